import { cx } from "./cx.js"
import { hueOf, initialsOf } from "./people.js"
import s from "./Avatar.module.css"

export interface AvatarProps {
  /** Whose it is: gives the colour. */
  id: string
  name: string
  /** Where the picture is; without it, initials. */
  src?: string | undefined
  size?: "xs" | "s" | "m" | "l" | "xl"
  group?: boolean
  /** Undefined: it is not known, or not told. */
  online?: boolean | undefined
}

/** A picture of somebody or of a group. It says nothing to a screen reader: the name stands beside it. */
export function Avatar({ id, name, src, size = "m", group = false, online }: AvatarProps) {
  return (
    <span className={cx(s.avatar, s[size], group && s.group)} style={{ "--hue": hueOf(id) } as React.CSSProperties} aria-hidden="true">
      {src === undefined || src === "" ? <span className={s.initials} data-initials={initialsOf(name)} /> : <img className={s.picture} src={src} alt="" draggable={false} />}
      {online === true && <span className={s.online} />}
    </span>
  )
}
