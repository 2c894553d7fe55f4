import type { ButtonHTMLAttributes, ReactNode, Ref } from "react"
import { cx } from "./cx.js"
import { Spinner } from "./Spinner.js"
import { Tooltip } from "./Tooltip.js"
import s from "./Button.module.css"

type Native = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type"> & { ref?: Ref<HTMLButtonElement> | undefined }

export interface ButtonProps extends Native {
  /** primary: the one thing to do here. quiet: no ground until it is touched. */
  look?: "primary" | "plain" | "quiet" | "danger"
  /** It is under way: the button waits and says so. */
  busy?: boolean | undefined
  wide?: boolean
  icon?: ReactNode
  submit?: boolean
}

export function Button({ look = "plain", busy = false, wide = false, icon, submit = false, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button {...rest} type={submit ? "submit" : "button"} className={cx(s.button, s[look], wide && s.wide, className)} disabled={disabled || busy} aria-busy={busy || undefined}>
      {busy ? <Spinner small /> : icon}
      <span className={s.text}>{children}</span>
    </button>
  )
}

export interface IconButtonProps extends Native {
  /** What it does: its name for a screen reader, and its tooltip. */
  label: string
  children: ReactNode
  look?: "quiet" | "primary" | "danger"
  small?: boolean
  /** Keys that do the same; the tooltip names them. */
  keys?: string
  /** Of one that switches something: whether it is on. */
  on?: boolean
  tooltip?: boolean
}

export function IconButton({ label, children, look = "quiet", small = false, keys, on, tooltip = true, className, ...rest }: IconButtonProps) {
  const button = (
    <button {...rest} type="button" aria-label={label} aria-pressed={on} className={cx(s.icon, s[look], small && s.small, on && s.on, className)}>
      {children}
    </button>
  )
  return tooltip ? <Tooltip text={label} {...(keys === undefined ? {} : { keys })}>{button}</Tooltip> : button
}
