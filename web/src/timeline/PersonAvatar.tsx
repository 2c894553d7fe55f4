import { useUser } from "@skein-im/react"
import { Avatar, type AvatarProps } from "../ui/index.js"
import { isUpload } from "@skein-im/client/content"
import { usePicture } from "./media.js"
import { useName } from "./names.js"
import s from "./Message.module.css"

/** Somebody's picture, if it is an upload here: pictures elsewhere are not loaded, they would tell who looks. */
export function PersonAvatar({ user, size = "s", onClick }: { user: string; size?: AvatarProps["size"]; onClick?: () => void }) {
  const u = useUser(user)
  const picture = u?.picture ?? ""
  const { url } = usePicture(isUpload(picture) ? { id: picture, conversation: "", seq: 0 } : undefined, true)
  const name = useName(user)
  const avatar = <Avatar id={user} name={name} src={url} size={size} />
  return onClick === undefined ? avatar : <button type="button" className={s.avatar} onClick={onClick} tabIndex={-1} aria-label={name}>{avatar}</button>
}
