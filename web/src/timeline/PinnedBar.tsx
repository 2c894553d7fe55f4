import { useCallback, useEffect, useRef, useState } from "react"
import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { List, Pin } from "lucide-react"
import { useLocation } from "wouter"
import type { Message, Response } from "@skein-im/client"
import { useClient, useEvent } from "@skein-im/react"
import { Dialog, IconButton } from "../ui/index.js"
import { momentOf } from "./format.js"
import { Summary } from "./Summary.js"
import s from "./Timeline.module.css"

type Entry = NonNullable<Response<"skein.v1.MessageService/ListPins">["entries"]>[number]

/** Several changes in a row are one question. */
const togetherMs = 250

/** What is pinned, the last one first; a tap goes there, and on to the one pinned before. */
export function PinnedBar({ conversation, onOpen }: { conversation: string; onOpen: (seq: number) => void }) {
  const { t } = useLingui()
  const [, go] = useLocation()
  const [all, setAll] = useState<readonly Entry[]>([])
  const [at, setAt] = useState(0)
  const [listed, setListed] = useState(false)
  const ask = usePins(conversation, setAll)
  const known = (seq: number): boolean => all.some((e) => Number(e.seq) === seq)
  useEvent("changed", (m) => {
    if (m.conversation === conversation && ((m.pinned !== undefined) !== known(m.seq) || (known(m.seq) && m.editedAtMs > 0))) ask()
  })
  useEvent("touched", (e) => {
    if (e.conversation === conversation) ask()
  })
  useEvent("recalled", (e) => {
    if (e.conversation === conversation && known(e.seq)) ask()
  })
  useEvent("gone", (e) => {
    if (e.conversation === conversation && all.some((x) => Number(x.seq) <= e.to)) ask()
  })
  const one = all[at % Math.max(1, all.length)]
  if (one === undefined) return null
  const open = (e: Entry): void => (Number(e.thread ?? 0) > 0 ? go(`/c/${conversation}/t/${e.thread ?? ""}`) : onOpen(Number(e.seq)))
  return (
    <div className={s.pins}>
      <Pin aria-hidden="true" />
      <button type="button" className={s.pinned} onClick={() => { open(one); setAt((n) => (n + 1) % all.length) }}>
        <span className={s.pinnedHead}>{all.length === 1 ? <Trans>Pinned</Trans> : <Trans>Pinned, {(at % all.length) + 1} of {all.length}</Trans>}</span>
        <span className={s.pinnedText}><Summary message={said(one)} /></span>
      </button>
      {all.length > 1 && <IconButton label={t`All pinned messages`} onClick={() => setListed(true)}><List /></IconButton>}
      <Dialog open={listed} onClose={() => setListed(false)} title={t`Pinned messages`} about={<Plural value={all.length} one="# message" other="# messages" />}>
        <div className={s.pinList}>
          {all.map((x) => (
            <button key={x.seq} type="button" className={s.pinItem} onClick={() => { setListed(false); open(x) }}>
              <span><Summary message={said(x)} /></span>
              <small>{momentOf(Number(x.storedAtMs ?? 0))}</small>
            </button>
          ))}
        </div>
      </Dialog>
    </div>
  )
}

/** As much of a message as a line needs. */
function said(x: Entry): Pick<Message, "type" | "text" | "fallback" | "recalled" | "media"> {
  return { type: x.content?.type ?? "", text: x.content?.text ?? "", fallback: x.content?.fallback ?? "", recalled: x.recalled ?? false, media: [] }
}

function usePins(conversation: string, set: (all: readonly Entry[]) => void): () => void {
  const client = useClient()
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const ask = useCallback(() => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      client.call("skein.v1.MessageService/ListPins", { conversation, limit: 200 }).then((r) => set(r.entries ?? []), () => undefined) // asked again with the next change
    }, togetherMs)
  }, [client, conversation, set])
  useEffect(() => {
    ask()
    return () => clearTimeout(timer.current)
  }, [ask])
  return ask
}
