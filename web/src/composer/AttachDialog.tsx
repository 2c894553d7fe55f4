import { useState } from "react"
import { plural } from "@lingui/core/macro"
import { useLingui } from "@lingui/react/macro"
import { FileText, Film, X } from "lucide-react"
import { Button, Checkbox, Dialog, IconButton, TextArea } from "../ui/index.js"
import { sizeOf } from "../timeline/format.js"
import type { Ready } from "./outgoing.js"
import s from "./Attach.module.css"

export interface AttachDialogProps {
  chosen: readonly Ready[]
  onClose: () => void
  onSend: (all: readonly Ready[], silent: boolean) => void
  most: number
}

/** What was chosen, pasted or dropped, before it is sent: what it looks like, and a caption. */
export function AttachDialog({ chosen, onClose, onSend, most }: AttachDialogProps) {
  const { t } = useLingui()
  const [gone, setGone] = useState<ReadonlySet<Ready>>(new Set())
  const [caption, setCaption] = useState("")
  const [asFiles, setAsFiles] = useState(false)
  const all = chosen.filter((r) => !gone.has(r))
  const visual = all.some((r) => r.kind !== "file")
  const tooLarge = most > 0 ? all.filter((r) => r.blob.size > most) : []
  const send = (): void => {
    if (all.length === 0 || tooLarge.length > 0) return
    onSend(all.map((r, i) => ({ ...r, kind: asFiles ? "file" : r.kind, caption: i === 0 ? caption.trim() : "" })), false)
  }
  const title = visual && !asFiles ? t`${plural(all.length, { one: "Send a picture", other: "Send # pictures" })}` : t`${plural(all.length, { one: "Send a file", other: "Send # files" })}`
  return (
    <Dialog open onClose={onClose} title={title} actions={<><Button onClick={onClose}>{t`Cancel`}</Button><Button look="primary" disabled={all.length === 0 || tooLarge.length > 0} onClick={send}>{t`Send`}</Button></>}>
      <ul className={all.length === 1 ? `${s.list} ${s.single}` : s.list}>
        {all.map((r, i) => (
          <li key={i} className={r.kind === "file" || asFiles ? s.file : s.tile}>
            {r.kind === "image" && !asFiles ? <img src={r.preview} alt={r.name} /> : r.kind === "video" && !asFiles ? <><video src={r.preview} muted /><Film aria-hidden="true" className={s.film} /></> : (
              <><FileText aria-hidden="true" /><span className={s.words}><bdi>{r.name}</bdi><small>{sizeOf(r.blob.size)}</small></span></>
            )}
            {all.length > 1 && <IconButton small label={t`Leave out ${r.name}`} className={s.out} onClick={() => setGone((o) => new Set(o).add(r))}><X /></IconButton>}
          </li>
        ))}
      </ul>
      {visual && <Checkbox label={t`As files, unchanged`} checked={asFiles} onChange={setAsFiles} />}
      <TextArea
        label={t`Caption`} bare placeholder={t`Caption`} rows={2} maxLength={2000} value={caption} onChange={(e) => setCaption(e.currentTarget.value)} autoFocus
        error={tooLarge.length > 0 ? t`${tooLarge[0]?.name ?? ""} is larger than ${sizeOf(most)}, which is the limit of this server.` : undefined}
        onKeyDown={(e) => {
          if (e.key !== "Enter" || e.shiftKey || e.nativeEvent.isComposing || e.keyCode === 229) return
          e.preventDefault()
          send()
        }}
      />
    </Dialog>
  )
}
