import { useState } from "react"
import { Plural, Trans } from "@lingui/react/macro"
import { Dialog } from "../ui/index.js"
import { plain, type MergedBody } from "@skein-im/client/content"
import { momentOf } from "./format.js"
import { Text } from "./Text.js"
import s from "./Content.module.css"

const shownLines = 4

/** Messages of another conversation that were forwarded together. Only what the server put together is surely so. */
export function Merged({ merged, byServer }: { merged: MergedBody; byServer: boolean }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" className={s.merged} onClick={() => setOpen(true)}>
        <bdi className={s.name}>{merged.title}</bdi>
        {merged.entries.slice(0, shownLines).map((e, i) => (
          <span key={i} className={s.mergedLine}><bdi>{e.name}</bdi>: {e.type === "text" ? plain(e.text) : e.fallback || e.type}</span>
        ))}
        <span className={s.about}><Plural value={merged.entries.length} one="# message" other="# messages" /></span>
      </button>
      <Dialog open={open} onClose={() => setOpen(false)} title={merged.title} about={byServer ? undefined : <Trans>As given by the sender; the server has not verified it.</Trans>}>
        <ol className={s.history}>
          {merged.entries.map((e, i) => (
            <li key={i}>
              <span className={s.historyHead}><bdi>{e.name}</bdi><time dateTime={new Date(e.atMs).toISOString()}>{momentOf(e.atMs)}</time></span>
              {e.type === "text" ? <Text text={e.text} /> : <p className={s.unknown}>{e.fallback || e.type}</p>}
            </li>
          ))}
        </ol>
      </Dialog>
    </>
  )
}
