import { Trans, useLingui } from "@lingui/react/macro"
import { Upload } from "@skein-im/client"
import { useAction } from "@skein-im/react"
import { ImagePlus, Smile, Sticker as Sign, X } from "lucide-react"
import { useRef, useState } from "react"
import { accessToken } from "../auth/session.js"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, Form, Reading, Row, Section } from "../settings/parts.js"
import { allStickers, StickerPicture, type Pack } from "../settings/Stickers.js"
import settings from "../settings/Settings.module.css"
import { useLoad } from "../settings/useLoad.js"
import { Button, Confirm, Dialog, Empty, Field, IconButton, toast } from "../ui/index.js"
import s from "./Admin.module.css"
import { Page, Refusal } from "./parts.js"
import { nameFrom, namesFrom } from "./stickerNames.js"
import { useCall } from "./useRole.js"

const kinds = "image/png,image/webp,image/gif"

/** Brings a picture to the server; resolves with its id there. */
async function upload(file: File): Promise<string> {
  const url = new URL("/ws", location.href.replace(/^http/, "ws")).href
  return new Upload(file, { url, getToken: (rejected) => accessToken(rejected), name: file.name }).done
}

/** The stickers and emoji of this place: which there are, new ones, and which go. */
export function StickerPacks() {
  const { t } = useLingui()
  const call = useCall()
  const [doing, setDoing] = useState<"pack" | "emoji" | undefined>(undefined)
  const [going, setGoing] = useState<{ pack: Pack } | { emoji: string } | undefined>(undefined)
  const all = useLoad((signal) => allStickers(call, signal))
  const done = (): void => { setDoing(undefined); all.reload() }
  return (
    <Page narrow title={t`Stickers`} about={<Trans>What everybody here can send. PNG, WebP or GIF; stickers up to 512 KB, emoji up to 256 KB.</Trans>}
      actions={<><Button icon={<Smile />} onClick={() => setDoing("emoji")}><Trans>New emoji</Trans></Button><Button look="primary" icon={<ImagePlus />} onClick={() => setDoing("pack")}><Trans>New pack</Trans></Button></>}>
      <Reading of={all}>
        {({ packs, emoji }) => packs.length + emoji.length === 0 ? <Empty icon={<Sign />} title={t`No stickers yet`}><Trans>Make a pack of some pictures: they are in everybody’s composer at once.</Trans></Empty> : (
          <>
            {packs.map((p) => (
              <Section key={p.name} title={p.title ?? p.name ?? ""}>
                <div className={settings.stickers}>{(p.stickers ?? []).map((x) => <StickerPicture key={x.name} id={x.media?.id ?? ""} alt={x.alt ?? x.name ?? ""} />)}</div>
                <Row title={<span className={s.mono}>{p.name}</span>}><Button look="quiet" onClick={() => setGoing({ pack: p })}><Trans>Withdraw…</Trans></Button></Row>
              </Section>
            ))}
            {emoji.length > 0 && <Section title={t`Emoji`}>{emoji.map((e) => <Row key={e.name} icon={<StickerPicture id={e.media?.id ?? ""} alt="" />} title={<span className={s.mono}>:{e.name}:</span>}><Button look="quiet" onClick={() => setGoing({ emoji: e.name ?? "" })}><Trans>Withdraw…</Trans></Button></Row>)}</Section>}
          </>
        )}
      </Reading>
      {doing === "pack" && <NewPack there={(all.data?.packs ?? []).map((p) => p.name ?? "")} onClose={() => setDoing(undefined)} onDone={done} />}
      {doing === "emoji" && <NewEmoji there={(all.data?.emoji ?? []).map((e) => e.name ?? "")} onClose={() => setDoing(undefined)} onDone={done} />}
      <Confirm open={going !== undefined} onClose={() => setGoing(undefined)} danger title={going === undefined ? "" : "pack" in going ? t`Withdraw ${going.pack.title ?? ""}?` : t`Withdraw :${going.emoji}:?`} action={t({ context: "take down", message: "Withdraw" })}
        onConfirm={async () => {
          if (going === undefined) return
          if ("pack" in going) await call("skein.v1.AdminService/SetStickerPack", { name: going.pack.name ?? "" })
          else await call("skein.v1.AdminService/SetCustomEmoji", { name: going.emoji })
          all.reload()
          toast(t`Withdrawn.`)
        }}>
        <Trans>Nobody can send it any more. What was sent with it stays.</Trans>
      </Confirm>
    </Page>
  )
}

/** A new pack: one of a name that is `there` would take the place of that one, with all its pictures. */
function NewPack({ there, onClose, onDone }: { there: readonly string[]; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const input = useRef<HTMLInputElement>(null)
  const [title, setTitle] = useState("")
  const [files, setFiles] = useState<readonly { file: File; alt: string }[]>([])
  const save = useAction(async () => {
    const names = namesFrom(files.map((f) => f.file.name))
    const stickers = []
    for (const [i, f] of files.entries()) stickers.push({ name: names[i]!, media: await upload(f.file), alt: f.alt.trim() || names[i]!, emoji: [] })
    await call("skein.v1.AdminService/SetStickerPack", { name: nameFrom(title) || `pack_${Date.now().toString(36)}`, title: title.trim(), stickers })
    onDone()
  })
  const errors = useFieldErrors(save.error, "title", "name")
  const taken = there.includes(nameFrom(title))
  return (
    <Dialog open onClose={onClose} title={t`New pack of stickers`}>
      <Form onSubmit={() => void save.run()}>
        <Field label={t`Title`} value={title} onChange={(e) => setTitle(e.currentTarget.value)} required maxLength={64} autoFocus error={taken ? t`There is a pack of this name already. Withdraw it first.` : errors.of("title") ?? errors.of("name")} />
        <input ref={input} type="file" accept={kinds} multiple hidden onChange={(e) => { const chosen = [...e.currentTarget.files ?? []]; setFiles((was) => [...was, ...chosen.map((file) => ({ file, alt: nameFrom(file.name).replace(/[_-]+/g, " ").trim() }))].slice(0, 200)); e.currentTarget.value = "" }} />
        <Button icon={<ImagePlus />} onClick={() => input.current?.click()}><Trans>Choose pictures</Trans></Button>
        {files.map((f, i) => <Field key={`${f.file.name} ${i}`} label={t`What ${f.file.name} shows`} value={f.alt} onChange={(e) => { const alt = e.currentTarget.value; setFiles((was) => was.map((x, n) => (n === i ? { ...x, alt } : x))) }} required maxLength={100} after={<IconButton small tooltip={false} label={t`Leave out ${f.file.name}`} onClick={() => setFiles((was) => was.filter((_, n) => n !== i))}><X /></IconButton>} hint={i === 0 ? t`Read aloud to who can’t see it.` : undefined} />)}
        <Refusal error={errors.rest} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={save.pending} disabled={files.length === 0 || title.trim() === "" || taken}><Trans>Create pack</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}

function NewEmoji({ there, onClose, onDone }: { there: readonly string[]; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const input = useRef<HTMLInputElement>(null)
  const [name, setName] = useState("")
  const [file, setFile] = useState<File | undefined>(undefined)
  const save = useAction(async () => {
    if (file === undefined) return
    await call("skein.v1.AdminService/SetCustomEmoji", { name, media: await upload(file) })
    onDone()
  })
  const errors = useFieldErrors(save.error, "name")
  const taken = there.includes(name)
  return (
    <Dialog open onClose={onClose} title={t`New emoji`} size="s">
      <Form onSubmit={() => void save.run()}>
        <input ref={input} type="file" accept={kinds} hidden onChange={(e) => { const f = e.currentTarget.files?.[0]; setFile(f); if (f !== undefined && name === "") setName(nameFrom(f.name)); e.currentTarget.value = "" }} />
        <Button icon={<ImagePlus />} onClick={() => input.current?.click()}>{file === undefined ? t`Choose a picture` : file.name}</Button>
        <Field label={t`Name`} value={name} onChange={(e) => setName(e.currentTarget.value.toLowerCase())} required maxLength={32} pattern="[a-z0-9_+\-]{1,32}" spellCheck={false} autoCapitalize="none" hint={t`Typed between colons. Letters a to z, digits, _ + -.`} error={taken ? t`There is an emoji of this name already. Withdraw it first.` : errors.of("name")} />
        <Refusal error={errors.rest} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={save.pending} disabled={file === undefined || name === "" || taken}><Trans>Create emoji</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
