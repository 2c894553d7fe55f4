import { Trans, useLingui } from "@lingui/react/macro"
import { ImagePlus } from "lucide-react"
import { useEffect, useRef, useState } from "react"
import { useUpload } from "@skein-im/react"
import { accessToken } from "../auth/session.js"
import { Avatar, Button, ErrorNote } from "../ui/index.js"
import { usePicture } from "../people/picture.js"
import s from "./Groups.module.css"

const source = { url: new URL("/ws", location.href.replace(/^http/, "ws")).href, getToken: accessToken }

/** Chooses a picture, and uploads it at once; what it comes to is the id of the upload, or "" for none. */
export function PicturePicker({ id, name, picture, group = true, error, onChange }: { id: string; name: string; picture: string; group?: boolean; error?: string | undefined; onChange: (picture: string) => void }) {
  const { t } = useLingui()
  const input = useRef<HTMLInputElement>(null)
  const { uploads, add, remove } = useUpload(source)
  const [local, setLocal] = useState<string | undefined>(undefined)
  const shown = usePicture(picture)
  useEffect(() => () => {
    if (local !== undefined) URL.revokeObjectURL(local)
  }, [local])
  const upload = uploads[uploads.length - 1]
  const choose = (file: File | undefined): void => {
    if (file === undefined) return
    for (const u of uploads) remove(u.key)
    setLocal(URL.createObjectURL(file))
    add(file).done.then(onChange, () => setLocal(undefined))
  }
  return (
    <div className={s.picture}>
      <Avatar id={id} name={name} src={local ?? shown} size="xl" group={group} />
      <div className={s.pictureActions}>
        <input ref={input} type="file" accept="image/jpeg,image/png,image/webp,image/gif" hidden onChange={(e) => { choose(e.currentTarget.files?.[0]); e.currentTarget.value = "" }} />
        <Button icon={<ImagePlus />} onClick={() => input.current?.click()}>{picture === "" ? <Trans>Choose a picture</Trans> : <Trans>Another picture</Trans>}</Button>
        {picture !== "" && <Button look="quiet" onClick={() => { setLocal(undefined); onChange("") }}><Trans>No picture</Trans></Button>}
        {upload?.state === "running" && <span className={s.bar} role="progressbar" aria-label={t`Upload`} aria-valuemax={upload.size} aria-valuenow={upload.sent}><i style={{ inlineSize: `${(100 * upload.sent) / upload.size}%` }} /></span>}
        {upload?.error !== undefined && <ErrorNote error={upload.error} />}
        {error !== undefined && <p role="alert" className={s.bad}>{error}</p>}
      </div>
    </div>
  )
}
