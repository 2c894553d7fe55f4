import { lazy, memo, Suspense, useMemo, type ReactNode } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { CircleAlert, Play } from "lucide-react"
import type { Message } from "@skein-im/client"
import { later } from "../ui/index.js"
import { bodyOf, isUpload, shownSize, type Body, type Picture as About } from "@skein-im/client/content"
import { useScene } from "./context.js"
import { lengthOf } from "./format.js"
import type { MediaPlace } from "./media.js"
import { Picture } from "./Picture.js"
import { Preview } from "./Preview.js"
import { useStickers } from "./stickers.js"
import { Text } from "./Text.js"
import s from "./Content.module.css"

// As high as what comes: nothing moves.
const Box = () => <span className={s.file}><span className={s.sign} /></span>
const File = lazy(() => import("./ContentMore.js").then((m) => ({ default: m.File })))
const Location = lazy(() => import("./ContentMore.js").then((m) => ({ default: m.Location })))
const Card = lazy(() => import("./ContentMore.js").then((m) => ({ default: m.Card })))
const Elsewhere = later(() => import("./ContentMore.js").then((m) => m.Elsewhere))
const Voice = later(() => import("./Voice.js").then((m) => m.Voice))
const Merged = later(() => import("./Merged.js").then((m) => m.Merged))
const Poll = later(() => import("./Poll.js").then((m) => m.Poll))

export const placeOf = (m: Message, id: string): MediaPlace => ({ id, conversation: m.conversation, seq: m.seq })

type StickerBody = Extract<Body, { t: "sticker" }>

/** What a message says, by the type of its content (SPEC §11.2). */
export const Content = memo(function Content({ message: m, text }: { message: Message; text: string }) {
  const body = useMemo(() => bodyOf({ ...m, text }), [m, text])
  return (
    <>
      <BodyNode m={m} body={body} />
      {m.preview !== undefined && !m.recalled && <Preview message={m} preview={m.preview} />}
      {m.cutOff && <p className={s.cut}><CircleAlert aria-hidden="true" /><Trans>This answer was cut off.</Trans></p>}
    </>
  )
})

function BodyNode({ m, body }: { m: Message; body: Body }): ReactNode {
  switch (body.t) {
    case "text":
      return body.text === "" && m.streaming ? null : <Text text={body.text} of={m} />
    case "image":
      return <Captioned m={m} caption={body.about.caption}><Images m={m} about={body.about} /></Captioned>
    case "video":
      return <Captioned m={m} caption={body.about.caption}><Video m={m} about={body.about} /></Captioned>
    case "voice":
      return <Voice place={placeOf(m, body.about.media)} durationMs={body.about.durationMs} waveform={waveOf(m, body.about)} />
    case "file":
      return <Captioned m={m} caption={body.about.caption}><Suspense fallback={<Box />}><File m={m} about={body.about} /></Suspense></Captioned>
    case "location":
      return <Suspense fallback={<Box />}><Location latitude={body.place.latitude} longitude={body.place.longitude} name={body.place.name} address={body.place.address} /></Suspense>
    case "card":
      return <Suspense fallback={<Box />}><Card user={body.user} name={body.name} /></Suspense>
    case "merged":
      return <Merged merged={body.merged} byServer={(m.forward?.merged ?? 0) > 0} />
    case "poll":
      return <Poll message={m} body={body.poll} />
    case "sticker":
      return <Sticker m={m} body={body} />
    case "unknown":
      return <p className={s.unknown}>{m.type === "unreadable" ? <Trans>This message can’t be read.</Trans> : body.fallback}</p>
  }
}

function waveOf(m: Message, about: About): number[] {
  if (about.waveform.length > 0) return about.waveform
  const own = m.media.find((x) => x.id === about.media)?.waveform
  return own === undefined ? [] : [...atob(own)].map((c) => c.charCodeAt(0))
}

function Captioned({ m, caption, children }: { m: Message; caption: string; children: ReactNode }) {
  return <>{children}{caption !== "" && <div className={s.caption} data-caption=""><Text text={caption} of={m} /></div>}</>
}

function Images({ m, about }: { m: Message; about: About }) {
  const { view } = useScene()
  const { t } = useLingui()
  if (!isUpload(about.media)) return <Elsewhere address={about.media}>{m.fallback || t`Picture`}</Elsewhere>
  const all = m.media.length > 1 ? m.media : undefined
  if (all === undefined) {
    const size = shownSize(about.width, about.height)
    const animated = about.mime === "image/gif" || about.mime === "image/webp"
    return <Picture place={placeOf(m, about.media)} {...size} blurhash={about.blurhash} alt={about.caption} thumbnail={!animated && size.width <= 160 && size.height <= 160} onClick={() => view(m)} />
  }
  return (
    <div className={s.grid} data-n={Math.min(all.length, 4)}>
      {all.map((x) => <Picture key={x.id} place={placeOf(m, x.id)} width={176} height={176} blurhash={x.blurhash ?? ""} alt="" thumbnail onClick={() => view(m)} />)}
    </div>
  )
}

function Video({ m, about }: { m: Message; about: About }) {
  const { view } = useScene()
  const { t } = useLingui()
  if (!isUpload(about.media)) return <Elsewhere address={about.media}>{m.fallback || t`Video`}</Elsewhere>
  const { width, height } = shownSize(about.width || 320, about.height || 180)
  return (
    <button type="button" className={s.frame} style={{ inlineSize: width, aspectRatio: `${width} / ${height}` }} onClick={() => view(m)} aria-label={t`Play the video`}>
      <span className={s.dark} />
      <span className={s.play}><Play aria-hidden="true" /></span>
      {about.durationMs > 0 && <span className={s.length}>{lengthOf(about.durationMs)}</span>}
    </button>
  )
}

const most = { width: 168, height: 168 }

function Sticker({ m, body }: { m: Message; body: StickerBody }) {
  const media = m.media[0]
  if (media === undefined) return <OwnSticker body={body} />
  return <Picture place={placeOf(m, media.id)} {...shownSize(media.width ?? 0, media.height ?? 0, most)} blurhash="" alt={body.alt} thumbnail={false} />
}

/** The server puts the picture into the entry, which the device that sent it is not told: there it is that of the list, and its words where it is in no list any more. */
function OwnSticker({ body: { pack, name, alt } }: { body: StickerBody }) {
  const { packs } = useStickers()
  const media = packs.find((p) => p.name === pack)?.stickers?.find((x) => x.name === name)?.media
  if (media?.id === undefined) return <p className={s.unknown}>{alt}</p>
  return <Picture place={{ id: media.id, conversation: "", seq: 0 }} {...shownSize(media.width ?? 0, media.height ?? 0, most)} blurhash="" alt={alt} thumbnail={false} />
}
