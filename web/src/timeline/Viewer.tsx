import { useEffect, useState } from "react"
import { useLingui } from "@lingui/react/macro"
import { Dialog as Base } from "@base-ui/react/dialog"
import { ChevronLeft, ChevronRight, Download, X } from "lucide-react"
import type { Message } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { IconButton, Spinner, toast } from "../ui/index.js"
import { bodyOf, isUpload } from "@skein-im/client/content"
import { useScene } from "./context.js"
import { momentOf } from "./format.js"
import { download, linkOf, usePicture, type MediaPlace } from "./media.js"
import { Text } from "./Text.js"
import s from "./Viewer.module.css"

interface Item {
  m: Message
  place: MediaPlace
  kind: "image" | "video"
  name: string
  caption: string
}

/** The pictures and videos among messages, in their order. */
function itemsOf(messages: readonly Message[]): Item[] {
  return messages.flatMap((m): Item[] => {
    if (m.recalled || (m.type !== "image" && m.type !== "video")) return []
    const b = bodyOf(m)
    if (b.t !== "image" && b.t !== "video") return []
    if (!isUpload(b.about.media)) return []
    const kind = b.t === "video" ? "video" : "image"
    const ids = m.media.length > 1 ? m.media.map((x) => x.id) : [b.about.media]
    return ids.map((id) => ({ m, place: { id, conversation: m.conversation, seq: m.seq }, kind, name: b.about.name || `${kind}-${m.seq}`, caption: b.about.caption }))
  })
}

/** One picture after another, above everything; arrow keys lead on, Esc back. */
export function Viewer({ message, messages, onClose }: { message: Message; messages: readonly Message[]; onClose: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const { names } = useScene()
  const items = itemsOf(messages.some((m) => m.id === message.id) ? messages : [message])
  const [at, setAt] = useState(() => Math.max(0, items.findIndex((x) => x.m.id === message.id)))
  const one = items[Math.min(at, items.length - 1)]
  const go = (n: number): void => setAt((i) => Math.max(0, Math.min(items.length - 1, i + n)))
  if (one === undefined) return null
  const save = (): void => void download(client, one.place, one.name).catch(() => toast(t`The file can’t be downloaded right now.`, { tone: "error" }))
  return (
    <Base.Root open onOpenChange={(now) => { if (!now) onClose() }}>
      <Base.Portal>
        <Base.Backdrop className={s.backdrop} />
        <Base.Popup
          className={s.viewer} onKeyDown={(e) => {
            if (e.key === "ArrowLeft") go(-1)
            if (e.key === "ArrowRight") go(1)
          }}
        >
          <header className={s.head}>
            <div className={s.words}>
              <Base.Title className={s.title}><bdi>{one.m.own ? t`You` : names.name(one.m.sender)}</bdi></Base.Title>
              <Base.Description className={s.about}>{momentOf(one.m.atMs)}</Base.Description>
            </div>
            <IconButton label={t`Download`} onClick={save}><Download /></IconButton>
            <Base.Close render={<IconButton label={t`Close`} tooltip={false}><X /></IconButton>} />
          </header>
          <div className={s.stage} onClick={(e) => { if (e.target === e.currentTarget) onClose() }}>
            {one.kind === "image" ? <Large key={one.place.id} item={one} /> : <Film key={one.place.id} item={one} />}
          </div>
          {at > 0 && <IconButton label={t`Before`} className={`${s.arrow} ${s.left}`} onClick={() => go(-1)}><ChevronLeft /></IconButton>}
          {at < items.length - 1 && <IconButton label={t`Next`} className={`${s.arrow} ${s.right}`} onClick={() => go(1)}><ChevronRight /></IconButton>}
          {one.caption !== "" && <div className={s.caption}><Text text={one.caption} of={one.m} /></div>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

function Large({ item }: { item: Item }) {
  const { t } = useLingui()
  const small = usePicture(item.place, true)
  const full = usePicture(item.place, false)
  const url = full.url ?? small.url
  if (url === undefined) return full.error === undefined ? <Spinner /> : <button type="button" className={s.again} onClick={full.retry}>{full.error.code === "not_found" ? t`This picture no longer exists.` : t`Tap to try again`}</button>
  return <img className={s.large} src={url} alt={item.caption || item.name} draggable={false} />
}

function Film({ item }: { item: Item }) {
  const { t } = useLingui()
  const client = useClient()
  const [src, setSrc] = useState<string | undefined>(undefined)
  const [failed, setFailed] = useState(false)
  const { id, conversation, seq } = item.place
  useEffect(() => {
    let here = true
    linkOf(client, { id, conversation, seq }).then((path) => { if (here) setSrc(path) }, () => { if (here) setFailed(true) })
    return () => { here = false }
  }, [client, id, conversation, seq])
  if (failed) return <p className={s.again}>{t`This video can’t be played right now.`}</p>
  if (src === undefined) return <Spinner />
  return <video className={s.large} src={src} controls autoPlay playsInline onError={() => setFailed(true)} />
}
