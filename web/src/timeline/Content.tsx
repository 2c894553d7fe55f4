import { memo, useMemo, type ReactNode } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { CircleAlert, ExternalLink, FileText, MapPin, Play, UserRound } from "lucide-react"
import type { Message } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { Avatar, toast, later } from "../ui/index.js"
import { bodyOf, isUpload, safeHref, shownSize, type Body, type Picture as About } from "@skein-im/client/content"
import { useScene } from "./context.js"
import { lengthOf, sizeOf } from "./format.js"
import { download, type MediaPlace } from "./media.js"
import { Picture } from "./Picture.js"
import { Preview } from "./Preview.js"
import { Text } from "./Text.js"
import s from "./Content.module.css"

const Voice = later(() => import("./Voice.js").then((m) => m.Voice))
const Merged = later(() => import("./Merged.js").then((m) => m.Merged))
const Poll = later(() => import("./Poll.js").then((m) => m.Poll))

export const placeOf = (m: Message, id: string): MediaPlace => ({ id, conversation: m.conversation, seq: m.seq })

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
      return <Captioned m={m} caption={body.about.caption}><File m={m} about={body.about} /></Captioned>
    case "location":
      return <Location latitude={body.place.latitude} longitude={body.place.longitude} name={body.place.name} address={body.place.address} />
    case "card":
      return <Card user={body.user} name={body.name} />
    case "merged":
      return <Merged merged={body.merged} byServer={(m.forward?.merged ?? 0) > 0} />
    case "poll":
      return <Poll message={m} body={body.poll} />
    case "sticker":
      return <Sticker m={m} alt={body.alt} />
    case "unknown":
      return <p className={s.unknown}>{m.type === "unreadable" ? <Trans>This message cannot be read.</Trans> : body.fallback}</p>
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

/** Of an address elsewhere nothing is loaded by itself: it would tell that site who reads it. */
function Elsewhere({ address, children }: { address: string; children: ReactNode }) {
  const href = safeHref(address)
  return href === undefined ? <span className={s.unknown}>{children}</span> : <a className={s.elsewhere} href={href} target="_blank" rel="noopener noreferrer nofollow"><ExternalLink aria-hidden="true" />{children}</a>
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

function File({ m, about }: { m: Message; about: About }) {
  const client = useClient()
  const { t } = useLingui()
  const name = about.name || t`File`
  if (!isUpload(about.media)) return <Elsewhere address={about.media}>{name}</Elsewhere>
  const get = (): void => {
    download(client, placeOf(m, about.media), name).catch(() => toast(t`The file cannot be fetched now.`, { tone: "error" }))
  }
  const ending = /\.([a-z0-9]{1,5})$/i.exec(name)?.[1]
  return (
    <button type="button" className={s.file} onClick={get} title={t`Download ${name}`} disabled={m.seq === 0}>
      <span className={s.sign}>{ending === undefined ? <FileText aria-hidden="true" /> : <span className={s.ending}>{ending}</span>}</span>
      <span className={s.words}>
        <bdi className={s.name}>{name}</bdi>
        <span className={s.about}>{sizeOf(about.bytes)}</span>
      </span>
    </button>
  )
}

function Location({ latitude, longitude, name, address }: { latitude: number; longitude: number; name: string; address: string }) {
  const { t } = useLingui()
  const at = `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`
  const map = `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`
  return (
    <a className={s.file} href={map} target="_blank" rel="noopener noreferrer" title={t`Open the map`}>
      <span className={s.sign}><MapPin aria-hidden="true" /></span>
      <span className={s.words}>
        <bdi className={s.name}>{name || t`Place`}</bdi>
        <span className={s.about}>{address || at}</span>
      </span>
    </a>
  )
}

function Card({ user, name }: { user: string; name: string }) {
  const { profile } = useScene()
  return (
    <button type="button" className={s.file} onClick={() => profile(user)}>
      <Avatar id={user} name={name} size="m" />
      <span className={s.words}>
        <bdi className={s.name}>{name}</bdi>
        <span className={s.about}><UserRound aria-hidden="true" /><Trans>Contact</Trans></span>
      </span>
    </button>
  )
}

function Sticker({ m, alt }: { m: Message; alt: string }) {
  const media = m.media[0]
  if (media === undefined) return <p className={s.unknown}>{alt}</p>
  const size = shownSize(media.width ?? 0, media.height ?? 0, { width: 168, height: 168 })
  return <Picture place={placeOf(m, media.id)} {...size} blurhash="" alt={alt} thumbnail={false} />
}
