import { Trans, useLingui } from "@lingui/react/macro"
import { useClient, useSearch, type Found } from "@skein-im/react"
import { AudioLines, Download, File as FileSign, Image as PictureSign, Link2, Play } from "lucide-react"
import { useMemo, useState, type ReactNode } from "react"
import { Link } from "wouter"
import { bodyOf, isUpload, safeHref, type Picture } from "@skein-im/client/content"
import { Colours } from "../timeline/Colours.js"
import { dayName, lengthOf, sizeOf } from "../timeline/format.js"
import { download, usePicture } from "../timeline/media.js"
import { useName } from "../timeline/names.js"
import { Empty, ErrorNote, IconButton, Loading, Tabs, toast } from "../ui/index.js"
import { Behind } from "./Hit.js"
import { linksOf } from "./linksOf.js"
import { More } from "./More.js"
import { byMonth } from "./months.js"
import s from "./Gallery.module.css"

type Kind = "pictures" | "files" | "links" | "voice"

const types: Record<Kind, readonly string[]> = { pictures: ["image", "video"], files: ["file"], links: ["link"], voice: ["voice"] }

/** What was sent in a conversation besides words: pictures and videos, files, links, voice, by month. */
export function Gallery({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const [kind, setKind] = useState<Kind>("pictures")
  return (
    <div className={s.gallery}>
      <Tabs label={t`Media`} value={kind} onChange={setKind} tabs={[
        { value: "pictures", label: t`Pictures` }, { value: "files", label: t`Files` }, { value: "links", label: t`Links` }, { value: "voice", label: t`Voice` },
      ]} />
      <Of key={`${conversation} ${kind}`} conversation={conversation} kind={kind} />
    </div>
  )
}

function Of({ conversation, kind }: { conversation: string; kind: Kind }) {
  const { t, i18n } = useLingui()
  const found = useSearch({ query: "", conversation, types: types[kind] }, { debounceMs: 0, pageSize: kind === "pictures" ? 36 : 20 })
  const months = useMemo(() => byMonth(found.found, (f) => Number(f.entry?.storedAtMs ?? 0)), [found.found])
  if (found.state === "failed" && found.found.length === 0 && found.error !== undefined) {
    return found.error.code === "unimplemented" ? <Empty title={t`Search is turned off`}><Trans>What was shared can’t be listed.</Trans></Empty> : <ErrorNote error={found.error} onRetry={found.retry} />
  }
  if (found.found.length === 0 && !found.more) {
    if (found.state !== "done") return <Loading />
    const none: Record<Kind, [ReactNode, string]> = { pictures: [<PictureSign />, t`No pictures yet`], files: [<FileSign />, t`No files yet`], links: [<Link2 />, t`No links yet`], voice: [<AudioLines />, t`No voice messages yet`] }
    return <>{!found.complete && <Behind untilMs={found.knownUntilMs} onRetry={found.retry} />}<Empty icon={none[kind][0]} title={none[kind][1]}><Trans>What is shared in this conversation appears here.</Trans></Empty></>
  }
  const monthName = new Intl.DateTimeFormat(i18n.locales ?? i18n.locale, { month: "long", year: "numeric" })
  return (
    <div className={s.scroll}>
      {!found.complete && <Behind untilMs={found.knownUntilMs} onRetry={found.retry} />}
      {months.map((m) => (
        <section key={m.key} className={s.month}>
          <h3 className={s.name}>{monthName.format(m.atMs)}</h3>
          <ul className={kind === "pictures" ? s.grid : s.list}>
            {m.items.map((f) => <li key={f.entry?.seq}><One of={f} kind={kind} /></li>)}
          </ul>
        </section>
      ))}
      <More of={found} />
    </div>
  )
}

interface Sent {
  about: Picture | undefined
  seq: number
  conversation: string
  sender: string
  atMs: number
  text: string
}

function sentOf(f: Found): Sent {
  const e = f.entry
  const c = e?.content
  const media = (e?.media ?? []).map((m) => ({ ...m, bytes: Number(m.bytes ?? 0) }))
  const body = bodyOf({ type: c?.type ?? "", text: c?.text ?? "", fallback: c?.fallback ?? "", media } as unknown as Parameters<typeof bodyOf>[0])
  return {
    about: body.t === "image" || body.t === "video" || body.t === "voice" || body.t === "file" ? body.about : undefined,
    seq: Number(e?.seq ?? 0), conversation: e?.conversation ?? "", sender: e?.sender ?? "", atMs: Number(e?.storedAtMs ?? 0), text: body.t === "text" ? body.text : "",
  }
}

function One({ of, kind }: { of: Found; kind: Kind }) {
  const sent = useMemo(() => sentOf(of), [of])
  if (kind === "links") return <Links sent={sent} />
  if (sent.about === undefined) return null
  return kind === "pictures" ? <Tile sent={sent} about={sent.about} /> : <FileLine sent={sent} about={sent.about} voice={kind === "voice"} />
}

function Tile({ sent, about }: { sent: Sent; about: Picture }) {
  const { t } = useLingui()
  const place = isUpload(about.media) ? { id: about.media, conversation: sent.conversation, seq: sent.seq } : undefined
  const { url } = usePicture(place, true)
  const video = about.mime.startsWith("video/")
  return (
    <Link href={`/c/${sent.conversation}/m/${sent.seq}`} className={s.tile} aria-label={about.caption || (video ? t`Video of ${dayName(sent.atMs)}` : t`Picture of ${dayName(sent.atMs)}`)}>
      {url === undefined ? <Colours hash={about.blurhash} /> : <img src={url} alt="" draggable={false} decoding="async" />}
      {video && <span className={s.length}><Play aria-hidden="true" />{about.durationMs > 0 && lengthOf(about.durationMs)}</span>}
    </Link>
  )
}

function FileLine({ sent, about, voice }: { sent: Sent; about: Picture; voice: boolean }) {
  const { t } = useLingui()
  const client = useClient()
  const sender = useName(sent.sender)
  const name = voice ? sender : about.name || t`File`
  const facts = [voice ? lengthOf(about.durationMs) : sizeOf(about.bytes), voice ? "" : sender, dayName(sent.atMs)].filter((x) => x !== "").join(" · ")
  const save = (): void => void download(client, { id: about.media, conversation: sent.conversation, seq: sent.seq }, name).catch(() => toast(t`It no longer exists.`, { tone: "error" }))
  return (
    <div className={s.file}>
      <span className={s.sign} aria-hidden="true">{voice ? <AudioLines /> : <FileSign />}</span>
      <Link href={`/c/${sent.conversation}/m/${sent.seq}`} className={s.words}><bdi className={s.title}>{name}</bdi><span className={s.facts}>{facts}</span></Link>
      {!voice && isUpload(about.media) && <IconButton label={t`Download`} onClick={save}><Download /></IconButton>}
    </div>
  )
}

function Links({ sent }: { sent: Sent }) {
  const { t } = useLingui()
  const sender = useName(sent.sender)
  return (
    <>
      {linksOf(sent.text).map((href) => {
        const safe = safeHref(href)
        if (safe === undefined) return null
        return (
          <div key={href} className={s.file}>
            <span className={s.sign} aria-hidden="true"><Link2 /></span>
            <span className={s.words}>
              <a href={safe} target="_blank" rel="noopener noreferrer nofollow" className={s.title}>{safe.replace(/^https?:\/\//, "").replace(/\/$/, "")}</a>
              <Link href={`/c/${sent.conversation}/m/${sent.seq}`} className={s.facts} aria-label={t`To the message`}>{sender} · {dayName(sent.atMs)}</Link>
            </span>
          </div>
        )
      })}
    </>
  )
}
