import type { ReactNode } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { ExternalLink, FileText, MapPin, UserRound } from "lucide-react"
import type { Message } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { Avatar, toast } from "../ui/index.js"
import { isUpload, safeHref, type Picture as About } from "@skein-im/client/content"
import { useScene } from "./context.js"
import { sizeOf } from "./format.js"
import { download } from "./media.js"
import s from "./Content.module.css"

/** Of an address elsewhere nothing is loaded by itself: it would tell that site who reads it. */
export function Elsewhere({ address, children }: { address: string; children: ReactNode }) {
  const href = safeHref(address)
  return href === undefined ? <span className={s.unknown}>{children}</span> : <a className={s.elsewhere} href={href} target="_blank" rel="noopener noreferrer nofollow"><ExternalLink aria-hidden="true" />{children}</a>
}

/** A file: a tap downloads it. */
export function File({ m, about }: { m: Message; about: About }) {
  const client = useClient()
  const { t } = useLingui()
  const name = about.name || t`File`
  if (!isUpload(about.media)) return <Elsewhere address={about.media}>{name}</Elsewhere>
  const get = (): void => {
    download(client, { id: about.media, conversation: m.conversation, seq: m.seq }, name).catch(() => toast(t`The file can’t be downloaded right now.`, { tone: "error" }))
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

/** A place: its map is elsewhere. */
export function Location({ latitude, longitude, name, address }: { latitude: number; longitude: number; name: string; address: string }) {
  const { t } = useLingui()
  const at = `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`
  const map = `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`
  return (
    <a className={s.file} href={map} target="_blank" rel="noopener noreferrer" title={t`Open the map`}>
      <span className={s.sign}><MapPin aria-hidden="true" /></span>
      <span className={s.words}>
        <bdi className={s.name}>{name || t`Location`}</bdi>
        <span className={s.about}>{address || at}</span>
      </span>
    </a>
  )
}

/** Somebody, by their card. */
export function Card({ user, name }: { user: string; name: string }) {
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
