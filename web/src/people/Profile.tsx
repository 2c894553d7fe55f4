import { Trans, useLingui } from "@lingui/react/macro"
import { Ban, MessageCircle, Pencil, Tag as TagIcon, UserMinus, UserPlus, X } from "lucide-react"
import { useEffect, useState, type KeyboardEvent } from "react"
import { useLocation } from "wouter"
import { useAction, useClient, usePresence, useProfiles, useUser } from "@skein-im/react"
import { Button, Confirm, ErrorNote, Field, Note, Tag } from "../ui/index.js"
import { AddDialog } from "./AddDialog.js"
import { shelfOf, useBook, useContact, type Contact } from "./book.js"
import { Face, useCalled, useSeen } from "./Person.js"
import { isOf, useFieldError } from "./says.js"
import s from "./People.module.css"

/** Somebody: who they are, what the user calls them, and what can be done. */
export function Profile({ user: id, onGone }: { user: string; onGone?: (() => void) | undefined }) {
  const { t } = useLingui()
  const profiles = useProfiles()
  useEffect(() => profiles.ask([id]), [profiles, id]) // of who is no contact no change is told
  const user = useUser(id)
  const contact = useContact(id)
  const name = useCalled(id)
  const presence = usePresence(id)
  const seen = useSeen()(presence)
  const own = useClient().user === id
  const extra = Object.entries(user?.extra ?? {})
  const lines = [user?.displayName === name ? "" : (user?.displayName ?? ""), user?.username ? `@${user.username}` : ""].filter((x) => x !== "")
  return (
    <article className={s.profile}>
      <div className={s.top}>
        <Face id={id} size="xl" online={presence?.online} />
        <h2 className={s.bigName}><bdi>{name}</bdi></h2>
        {lines.length > 0 && <p className={s.own}><bdi>{lines.join(" · ")}</bdi></p>}
        {seen !== "" && <p className={presence?.online ? s.here : s.own}>{seen}</p>}
        {user?.guest && <Tag>{t`Guest`}</Tag>}
      </div>
      {!own && user?.deleted !== true && <Actions id={id} contact={contact} guest={user?.guest === true} />}
      {(user?.about || extra.length > 0) && (
        <dl className={s.facts}>
          {user?.about && <div className={s.fact}><dt><Trans>About</Trans></dt><dd>{user.about}</dd></div>}
          {extra.map(([key, value]) => <div className={s.fact} key={key}><dt><bdi>{key}</bdi></dt><dd>{value}</dd></div>)}
        </dl>
      )}
      {contact !== undefined && shelfOf(contact) === "contacts" && <Private contact={contact} />}
      {!own && user !== undefined && <Ends id={id} name={name} contact={contact} onGone={onGone} />}
    </article>
  )
}

/** Write to them, or what stands before that. */
function Actions({ id, contact, guest }: { id: string; contact: Contact | undefined; guest: boolean }) {
  const client = useClient()
  const [, go] = useLocation()
  const { read } = useBook()
  const [adding, setAdding] = useState(false)
  const at = contact === undefined ? undefined : shelfOf(contact)
  const answer = useAction(async (accept: boolean) => {
    if (accept) await client.call("skein.v1.ContactService/AcceptContact", { user: id })
    else await client.call("skein.v1.ContactService/RefuseContact", { user: id })
    read()
  })
  if (at === "blocked") return null
  return (
    <>
      {at === "asksMe" && contact?.message && <p className={s.facts}>{contact.message}</p>}
      <div className={s.actions}>
        {at === "asksMe" && (
          <>
            <Button look="primary" busy={answer.pending} onClick={() => void answer.run(true)}><Trans>Accept</Trans></Button>
            <Button disabled={answer.pending} onClick={() => void answer.run(false)}><Trans>Decline</Trans></Button>
          </>
        )}
        {at !== "asksMe" && <Button look={at === "asked" ? "plain" : "primary"} icon={<MessageCircle />} onClick={() => go(`/c/${client.dm(id).id}`)}><Trans>Send a message</Trans></Button>}
        {at === undefined && !guest && <Button icon={<UserPlus />} onClick={() => setAdding(true)}><Trans>Add contact</Trans></Button>}
      </div>
      {at === "asked" && <Note><Trans>Contact request sent. They have not answered yet.</Trans></Note>}
      {answer.error !== undefined && <ErrorNote error={answer.error} />}
      {adding && <AddDialog user={id} onClose={() => setAdding(false)} />}
    </>
  )
}

/** What the user alone sees of a contact: a name of their own, and tags. */
function Private({ contact }: { contact: Contact }) {
  const { t } = useLingui()
  const client = useClient()
  const { read } = useBook()
  const fieldError = useFieldError()
  const id = contact.user.id
  const [remark, setRemark] = useState<string | undefined>(undefined)
  const [tag, setTag] = useState("")
  const tags = contact.tags ?? []
  const saveRemark = useAction(async (to: string) => {
    await client.call("skein.v1.ContactService/SetRemark", { user: id, remark: to })
    setRemark(undefined)
    read()
  })
  const saveTags = useAction(async (to: string[]) => {
    await client.call("skein.v1.ContactService/SetTags", { user: id, tags: to })
    setTag("")
    read()
  })
  const addTag = (): void => {
    const one = tag.trim()
    if (one !== "") void saveTags.run([...new Set([...tags, one])])
  }
  const onKey = (e: KeyboardEvent): void => {
    if (e.key !== "Enter" || e.nativeEvent.isComposing) return
    e.preventDefault()
    addTag()
  }
  return (
    <section className={s.form} aria-label={t`Only you can see this`}>
      <h3 className={s.heading}><Trans>Only you can see this</Trans></h3>
      <form className={s.row} onSubmit={(e) => { e.preventDefault(); if (remark !== undefined) void saveRemark.run(remark.trim()) }}>
        <Field label={t`Your name for this person`} value={remark ?? contact.remark ?? ""} onChange={(e) => setRemark(e.currentTarget.value)} placeholder={contact.user.displayName} maxLength={64} error={fieldError(saveRemark.error, "remark")} before={<Pencil aria-hidden="true" />} />
        {remark !== undefined && remark !== (contact.remark ?? "") && <Button look="primary" submit busy={saveRemark.pending}><Trans>Save</Trans></Button>}
      </form>
      {saveRemark.error !== undefined && !isOf(saveRemark.error, "remark") && <ErrorNote error={saveRemark.error} />}
      <div className={s.section}>
        <Field label={t`Tags`} value={tag} onChange={(e) => setTag(e.currentTarget.value)} onKeyDown={onKey} maxLength={32} placeholder={t`family, work, band …`} error={fieldError(saveTags.error, "tags")} before={<TagIcon aria-hidden="true" />}
          after={tag.trim() !== "" && <Button look="quiet" busy={saveTags.pending} onClick={addTag}><Trans>Add tag</Trans></Button>} />
        <div className={s.tags}>
          {tags.map((one) => (
            <button key={one} type="button" className={s.chip} aria-label={t`Remove the tag ${one}`} disabled={saveTags.pending} onClick={() => void saveTags.run(tags.filter((x) => x !== one))}>{one}<X aria-hidden="true" /></button>
          ))}
        </div>
        {saveTags.error !== undefined && !isOf(saveTags.error, "tags") && <ErrorNote error={saveTags.error} />}
      </div>
    </section>
  )
}

/** What ends something: asked before it is done. */
function Ends({ id, name, contact, onGone }: { id: string; name: string; contact: Contact | undefined; onGone: (() => void) | undefined }) {
  const { t } = useLingui()
  const client = useClient()
  const { read } = useBook()
  const [asking, setAsking] = useState<"remove" | "block" | undefined>(undefined)
  const at = contact === undefined ? undefined : shelfOf(contact)
  const unblock = useAction(async () => {
    await client.call("skein.v1.ContactService/UnblockUser", { user: id })
    read()
  })
  const remove = async (): Promise<void> => {
    await client.call("skein.v1.ContactService/RemoveContact", { user: id })
    read()
    onGone?.()
  }
  const block = async (): Promise<void> => {
    await client.call("skein.v1.ContactService/BlockUser", { user: id })
    read()
  }
  return (
    <div className={s.danger}>
      {at === "blocked" && <Note tone="warning"><Trans>You blocked {name}. They can’t message you or see when you’re online.</Trans></Note>}
      {at === "blocked" && <Button busy={unblock.pending} onClick={() => void unblock.run()}><Trans>Unblock</Trans></Button>}
      {unblock.error !== undefined && <ErrorNote error={unblock.error} />}
      {at === "contacts" && <Button look="quiet" icon={<UserMinus />} onClick={() => setAsking("remove")}><Trans>Remove from contacts</Trans></Button>}
      {at === "asked" && <Button look="quiet" icon={<UserMinus />} onClick={() => setAsking("remove")}><Trans>Withdraw request</Trans></Button>}
      {at !== "blocked" && <Button look="quiet" icon={<Ban />} onClick={() => setAsking("block")}><Trans>Block</Trans></Button>}
      <Confirm open={asking === "remove"} onClose={() => setAsking(undefined)} title={at === "asked" ? t`Withdraw the request?` : t`Remove ${name}?`} action={at === "asked" ? t`Withdraw` : t`Remove`} danger onConfirm={remove}>
        {at !== "asked" && <Trans>You stop being contacts. Your messages stay; your name for them and your tags are deleted.</Trans>}
      </Confirm>
      <Confirm open={asking === "block"} onClose={() => setAsking(undefined)} title={t`Block ${name}?`} action={t`Block`} danger onConfirm={block}>
        <Trans>They can no longer message you, add you to groups or see when you’re online. They are not told.</Trans>
      </Confirm>
    </div>
  )
}
