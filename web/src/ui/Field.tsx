import { useId, type InputHTMLAttributes, type ReactNode, type Ref, type TextareaHTMLAttributes } from "react"
import { CircleAlert } from "lucide-react"
import { cx } from "./cx.js"
import s from "./Field.module.css"

interface Common {
  label: string
  /** The label is for screen readers alone. */
  bare?: boolean
  hint?: ReactNode
  /** What is wrong with it; undefined or "": nothing. */
  error?: string | undefined
  /** In front of the text, and behind it. */
  before?: ReactNode
  after?: ReactNode
}

export type FieldProps = Common & Omit<InputHTMLAttributes<HTMLInputElement>, "children"> & { ref?: Ref<HTMLInputElement> }

/** A line of text with its label, a hint and what is wrong with it. */
export function Field({ label, bare, hint, error, before, after, className, ...rest }: FieldProps) {
  const id = useId()
  return (
    <Frame id={id} label={label} bare={bare} hint={hint} error={error} className={className}>
      <span className={cx(s.box, error && s.wrong)}>
        {before}
        <input id={id} className={s.input} aria-invalid={error ? true : undefined} aria-describedby={`${id}-note`} {...rest} />
        {after}
      </span>
    </Frame>
  )
}

export type TextAreaProps = Common & TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> }

/** Several lines; it grows with its text. */
export function TextArea({ label, bare, hint, error, before, after, className, ...rest }: TextAreaProps) {
  const id = useId()
  return (
    <Frame id={id} label={label} bare={bare} hint={hint} error={error} className={className}>
      <span className={cx(s.box, error && s.wrong)}>
        {before}
        <textarea id={id} className={cx(s.input, s.area)} aria-invalid={error ? true : undefined} aria-describedby={`${id}-note`} rows={3} {...rest} />
        {after}
      </span>
    </Frame>
  )
}

function Frame({ id, label, bare, hint, error, className, children }: { id: string; label: string; bare: boolean | undefined; hint: ReactNode; error: string | undefined; className: string | undefined; children: ReactNode }) {
  return (
    <div className={cx(s.field, className)}>
      <label htmlFor={id} className={bare ? "visually-hidden" : s.label}>{label}</label>
      {children}
      <div id={`${id}-note`} className={cx(s.note, error && s.error)} aria-live="polite">
        {error ? <><CircleAlert aria-hidden="true" />{error}</> : hint}
      </div>
    </div>
  )
}
