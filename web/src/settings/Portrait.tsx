import { Trans, useLingui } from "@lingui/react/macro"
import { Upload } from "@skein-im/client"
import { useAction, useClient, useProfiles, useUser } from "@skein-im/react"
import { useRef, useState } from "react"
import { accessToken } from "../auth/session.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { Button, ErrorNote, toast } from "../ui/index.js"
import { PictureDialog } from "./PictureDialog.js"
import s from "./Settings.module.css"

/** Brings a picture to the server; resolves with its name there. */
export async function uploadPicture(square: Blob): Promise<string> {
  const url = new URL("/ws", location.href.replace(/^http/, "ws")).href
  return new Upload(square, { url, getToken: (rejected) => accessToken(rejected), name: "picture.jpg" }).done
}

/** One's own picture, and how it becomes another one. */
export function Portrait() {
  const { t } = useLingui()
  const client = useClient()
  const profiles = useProfiles()
  const me = useUser(client.user)
  const [file, setFile] = useState<Blob | undefined>(undefined)
  const input = useRef<HTMLInputElement>(null)
  const set = async (picture: string): Promise<void> => {
    const { user } = await client.call("skein.v1.UserService/UpdateProfile", { picture })
    if (user !== undefined) profiles.put([user])
  }
  const remove = useAction(() => set(""))
  return (
    <div className={s.portrait}>
      <PersonAvatar user={client.user} size="xl" />
      <div className={s.portraitActs}>
        <Button onClick={() => input.current?.click()}>{(me?.picture ?? "") === "" ? <Trans>Choose a picture</Trans> : <Trans>Change the picture</Trans>}</Button>
        {(me?.picture ?? "") !== "" && <Button look="quiet" busy={remove.pending} onClick={() => void remove.run()}><Trans>Remove</Trans></Button>}
      </div>
      <input ref={input} type="file" accept="image/*" hidden onChange={(e) => { setFile(e.currentTarget.files?.[0]); e.currentTarget.value = "" }} />
      {remove.error !== undefined && <ErrorNote error={remove.error} />}
      <PictureDialog file={file} onClose={() => setFile(undefined)} onDone={async (square) => { await set(await uploadPicture(square)); toast(t`Your picture was changed.`) }} />
    </div>
  )
}
