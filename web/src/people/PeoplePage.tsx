import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { ArrowLeft, Ban, Search, UserRoundSearch, UsersRound } from "lucide-react"
import { useDeferredValue, useState, type ReactNode } from "react"
import { useLocation } from "wouter"
import { openedFrom } from "../shell/from.js"
import { Badge, Button, Empty, ErrorNote, Field, IconButton, Loading, Tabs } from "../ui/index.js"
import { useBook, type Contact } from "./book.js"
import { fits, onShelf, tagsOf } from "./shelves.js"
import { Found } from "./Found.js"
import { Invitations, useInvitations } from "./Invitations.js"
import { Person } from "./Person.js"
import { Profile } from "./Profile.js"
import { Requests, Waiting } from "./Requests.js"
import { useAction, useClient } from "@skein-im/react"
import s from "./People.module.css"

type View = "contacts" | "requests" | "invitations" | "blocked"

/** Everybody the user has to do with, who asks for it, and who could be found; or one of them. */
export function PeoplePage({ user }: { user?: string }) {
  const { t } = useLingui()
  const [, go] = useLocation()
  if (user !== undefined) {
    return (
      <Frame title={t`Profile`} onBack={() => go(openedFrom() ?? "/people")}>
        <Profile key={user} user={user} onGone={() => go("/people")} />
      </Frame>
    )
  }
  return <Everybody />
}

/** A page of the main pane: a bar above, a column below it. */
export function Frame({ title, onBack, end, children }: { title: string; onBack?: () => void; end?: ReactNode; children: ReactNode }) {
  const { t } = useLingui()
  const [, go] = useLocation()
  return (
    <div className={s.page}>
      <header className={s.head}>
        <IconButton label={t`Back`} className={onBack === undefined ? s.back : undefined} onClick={onBack ?? (() => go("/"))}><ArrowLeft /></IconButton>
        <h1 className={s.title}>{title}</h1>
        {end}
      </header>
      <div className={s.scroll}><div className={s.column}>{children}</div></div>
    </div>
  )
}

function Everybody() {
  const { t, i18n } = useLingui()
  const [, go] = useLocation()
  const { contacts, state, error, read } = useBook()
  const invitations = useInvitations()
  const [view, setView] = useState<View>("contacts")
  const [query, setQuery] = useState("")
  const looked = useDeferredValue(query.trim())
  const asking = onShelf(contacts, "asksMe", i18n.locale)
  const count = { asks: asking.length, invited: invitations.list.length }
  const tabs = [
    { value: "contacts" as const, label: <Trans>Contacts</Trans> },
    { value: "requests" as const, label: <Counted count={count.asks} label={t`${count.asks} waiting`}><Trans>Requests</Trans></Counted> },
    { value: "invitations" as const, label: <Counted count={count.invited} label={t`${count.invited} waiting`}><Trans>Invitations</Trans></Counted> },
    { value: "blocked" as const, label: <Trans>Blocked</Trans> },
  ]
  return (
    <Frame title={t`People`} end={<Button look="quiet" icon={<UsersRound />} onClick={() => go("/new-group")}><Trans>New group</Trans></Button>}>
      <Field bare label={t`Find people`} type="search" placeholder={t`Name, user name or tag`} value={query} onChange={(e) => setQuery(e.currentTarget.value)} before={<Search aria-hidden="true" />} autoComplete="off" maxLength={64} />
      {looked === "" && <Tabs label={t`People`} value={view} tabs={tabs} onChange={setView} />}
      {state === "failed" && error !== undefined && <ErrorNote error={error} onRetry={read} />}
      {state === "loading" ? <Loading /> : looked !== "" ? (
        <>
          <Contacts all={onShelf(contacts, "contacts", i18n.locale).filter((c) => fits(c, looked))} heading={t`Your contacts`} />
          <Found query={looked} />
        </>
      ) : (
        <>
          {view === "contacts" && <><Waiting asking={asking} /><AllContacts contacts={contacts} /></>}
          {view === "requests" && <Requests contacts={contacts} />}
          {view === "invitations" && <Invitations of={invitations} />}
          {view === "blocked" && <Blocked all={onShelf(contacts, "blocked", i18n.locale)} onDone={read} />}
        </>
      )}
    </Frame>
  )
}

function Counted({ count, label, children }: { count: number; label: string; children: ReactNode }) {
  return <span className={s.nameLine}>{children}<Badge count={count} label={label} /></span>
}

function Contacts({ all, heading }: { all: readonly Contact[]; heading?: string }) {
  const [, go] = useLocation()
  if (all.length === 0) return null
  return (
    <section className={s.section}>
      {heading !== undefined && <h2 className={s.heading}>{heading}</h2>}
      <ul className={s.list}>{all.map((c) => <Person key={c.user.id} id={c.user.id} onOpen={() => go(`/people/${c.user.id}`)} />)}</ul>
    </section>
  )
}

function AllContacts({ contacts }: { contacts: ReadonlyMap<string, Contact> }) {
  const { t, i18n } = useLingui()
  const [tag, setTag] = useState("")
  const all = onShelf(contacts, "contacts", i18n.locale)
  const tags = tagsOf(contacts, i18n.locale)
  const chosen = tags.includes(tag) ? tag : ""
  const shown = chosen === "" ? all : all.filter((c) => c.tags?.includes(chosen))
  if (all.length === 0) {
    return (
      <Empty icon={<UserRoundSearch />} title={t`No contacts yet`}>
        <Trans>Search for people above and send them a contact request. Once they accept, you can message each other.</Trans>
      </Empty>
    )
  }
  return (
    <>
      {tags.length > 0 && (
        <div className={s.tags} role="group" aria-label={t`Tags`}>
          {tags.map((one) => <button key={one} type="button" className={s.chip} aria-pressed={one === chosen} onClick={() => setTag(one === chosen ? "" : one)}>{one}</button>)}
        </div>
      )}
      <Contacts all={shown} />
      <p className={s.heading}><Plural value={shown.length} one="# contact" other="# contacts" /></p>
    </>
  )
}

function Blocked({ all, onDone }: { all: readonly Contact[]; onDone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const unblock = useAction(async (user: string) => {
    await client.call("skein.v1.ContactService/UnblockUser", { user })
    onDone()
  })
  if (all.length === 0) return <Empty icon={<Ban />} title={t`Nobody is blocked`}><Trans>People you block can’t message you or see when you’re online. They are not told.</Trans></Empty>
  return (
    <section className={s.section}>
      {unblock.error !== undefined && <ErrorNote error={unblock.error} />}
      <ul className={s.list}>
        {all.map((c) => (
          <Person key={c.user.id} id={c.user.id} presence={false} end={<Button disabled={unblock.pending} onClick={() => void unblock.run(c.user.id)}><Trans>Unblock</Trans></Button>} />
        ))}
      </ul>
    </section>
  )
}

