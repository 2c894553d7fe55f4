import { Trans, useLingui } from "@lingui/react/macro"
import type { Found } from "@skein-im/react"
import { useClient, useUsers } from "@skein-im/react"
import { ChevronDown, ChevronUp } from "lucide-react"
import { useId, useState } from "react"
import { Link } from "wouter"
import { useRemarks } from "../people/book.js"
import { useLoad } from "../settings/useLoad.js"
import { dayName, momentOf, timeOf } from "../timeline/format.js"
import { usePicture, type MediaPlace } from "../timeline/media.js"
import { nameOf, useName } from "../timeline/names.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { Button, cx, ErrorNote, IconButton, Loading } from "../ui/index.js"
import { plainText, snippetOf } from "./snippet.js"
import s from "./Search.module.css"

/** How many messages are shown on each side of a hit. */
const around = 2

/** A message that was found: who said it where, what it says, and on demand what was said around it. */
export function Hit({ found, place }: { found: Found; place: string | undefined }) {
  const { t } = useLingui()
  const id = useId()
  const [open, setOpen] = useState(false)
  const e = found.entry
  const sender = e?.sender ?? ""
  const who = useName(sender)
  const at = Number(e?.storedAtMs ?? 0)
  const spans = snippetOf(e?.content ?? {}, found.matches ?? [])
  const media = e?.media?.find((m) => m.thumbnail === true)
  const picture = media?.id === undefined ? undefined : { id: media.id, conversation: e?.conversation ?? "", seq: Number(e?.seq ?? 0) }
  const href = Number(e?.thread ?? 0) > 0 ? `/c/${e?.conversation ?? ""}/t/${e?.thread ?? ""}` : `/c/${e?.conversation ?? ""}/m/${e?.seq ?? ""}`
  return (
    <li className={s.hit}>
      <PersonAvatar user={sender} size="s" />
      <div className={s.said}>
        <Link href={href} className={s.jump}>
          <span className={s.by}>
            <bdi className={s.who}>{who}</bdi>
            {place !== undefined && <span className={s.in}><Trans>in <bdi>{place}</bdi></Trans></span>}
            <time className={s.at} dateTime={new Date(at).toISOString()} title={momentOf(at)}>{whenOf(at)}</time>
          </span>
          <span className={s.text} dir="auto">{spans.map((x, i) => (x.hit ? <mark key={i} className={s.mark}>{x.text}</mark> : <span key={i}>{x.text}</span>))}</span>
        </Link>
        {open && <div id={id} className={s.wide}><Around conversation={e?.conversation ?? ""} seq={Number(e?.seq ?? 0)} /></div>}
      </div>
      {picture !== undefined && <Thumb place={picture} />}
      <span className={s.context}>
        <IconButton small label={open ? t`Hide context` : t`Show context`} aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>{open ? <ChevronUp /> : <ChevronDown />}</IconButton>
      </span>
    </li>
  )
}

function Thumb({ place }: { place: MediaPlace }) {
  const { url } = usePicture(place, true)
  return <span className={s.thumb} aria-hidden="true">{url !== undefined && <img src={url} alt="" draggable={false} />}</span>
}

/** Of today the time, of other days the day. */
function whenOf(ms: number): string {
  return new Date(ms).toDateString() === new Date().toDateString() ? timeOf(ms) : dayName(ms)
}

/** What was said before and after it. */
function Around({ conversation, seq }: { conversation: string; seq: number }) {
  const client = useClient()
  const read = useLoad(async (signal) => {
    const ask = (from: number, backward: boolean) => client.call("skein.v1.MessageService/ListEntries", { conversation, from: String(from), backward, limit: 8 }, { signal })
    const [before, after] = await Promise.all([ask(seq, true), ask(seq + 1, false)])
    const said = (all: typeof before.entries, n: number) => (all ?? []).filter((x) => x.kind === "ENTRY_KIND_MESSAGE" && x.recalled !== true && Number(x.seq) !== 0).slice(0, n)
    const up = said([...(before.entries ?? [])].sort((a, b) => Number(b.seq) - Number(a.seq)), around + 1)
    return [...up.reverse(), ...said(after.entries, around)]
  }, `${conversation} ${seq}`)
  const remarks = useRemarks()
  const users = useUsers((read.data ?? []).map((x) => x.sender ?? ""))
  if (read.error !== undefined) return <ErrorNote error={read.error} onRetry={read.reload} />
  if (read.data === undefined) return <Loading />
  return (
    <ol className={s.around}>
      {read.data.map((x) => (
        <li key={x.seq} className={cx(s.line, Number(x.seq) === seq && s.here)}>
          <bdi className={s.who}>{nameOf(users.get(x.sender ?? ""), remarks.get(x.sender ?? ""))}</bdi> <span dir="auto">{plainText(x.content ?? {}).slice(0, 300)}</span>
        </li>
      ))}
      <li><Link href={`/c/${conversation}/m/${seq}`} className={s.open}><Trans>Open in the conversation</Trans></Link></li>
    </ol>
  )
}

/** A page of hits could not be read whole: it says up to when it was. */
export function Behind({ untilMs, onRetry }: { untilMs: number; onRetry: () => void }) {
  return (
    <p className={s.behind} role="status">
      {untilMs === 0 ? <Trans>The search index is being built. Try again later.</Trans> : <Trans>Search is catching up: messages after {momentOf(untilMs)} are not found yet.</Trans>}
      <Button look="quiet" onClick={onRetry}><Trans>Search again</Trans></Button>
    </p>
  )
}
