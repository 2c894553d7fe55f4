import { Trans } from "@lingui/react/macro"
import { Upload } from "@skein-im/client"
import { useAction } from "@skein-im/react"
import { ImagePlus } from "lucide-react"
import { useRef, useState } from "react"
import { accessToken } from "../auth/session.js"
import { Avatar, Button, ErrorNote } from "../ui/index.js"
import { usePicture } from "./picture.js"
import { PictureDialog } from "./PictureDialog.js"
import s from "./Picture.module.css"

/** Brings a picture to the server; resolves with its id there. */
async function upload(square: Blob): Promise<string> {
  const url = new URL("/ws", location.href.replace(/^http/, "ws")).href
  return new Upload(square, { url, getToken: (rejected) => accessToken(rejected), name: "picture.jpg" }).done
}

export interface PicturePickerProps {
  /** Gives the colour while there is no picture, as `name` gives the letters. */
  id: string
  name: string
  /** The id of an upload; "": none. */
  picture: string
  group?: boolean
  error?: string | undefined
  /** Called with the upload of the picture that was chosen and cropped, or with "" for none. */
  onChange: (picture: string) => void | Promise<void>
}

/** A picture of somebody or of a group, and how it becomes another one: chosen, cropped to a square, uploaded. */
export function PicturePicker({ id, name, picture, group = false, error, onChange }: PicturePickerProps) {
  const input = useRef<HTMLInputElement>(null)
  const [file, setFile] = useState<Blob | undefined>(undefined)
  const shown = usePicture(picture)
  const remove = useAction(async () => onChange(""))
  return (
    <div className={s.picture}>
      <Avatar id={id} name={name} src={shown} size="xl" group={group} />
      <div className={s.pictureActions}>
        <input ref={input} type="file" accept="image/*" hidden onChange={(e) => { setFile(e.currentTarget.files?.[0]); e.currentTarget.value = "" }} />
        <Button icon={<ImagePlus />} onClick={() => input.current?.click()}>{picture === "" ? <Trans>Choose a picture</Trans> : <Trans>Change picture</Trans>}</Button>
        {picture !== "" && <Button look="quiet" busy={remove.pending} onClick={() => void remove.run()}><Trans>Remove picture</Trans></Button>}
        {remove.error !== undefined && <ErrorNote error={remove.error} />}
        {error !== undefined && <p role="alert" className={s.bad}>{error}</p>}
      </div>
      <PictureDialog file={file} onClose={() => setFile(undefined)} onDone={async (square) => onChange(await upload(square))} />
    </div>
  )
}
