import { Trans, useLingui } from "@lingui/react/macro"
import { Check, Search, X } from "lucide-react"
import { useEffect, useState } from "react"
import { useClient, useProfiles, useUser } from "@skein-im/react"
import { Field, Note } from "../ui/index.js"
import { useBook } from "../people/book.js"
import { fits, onShelf } from "../people/shelves.js"
import { Face, useCalled } from "../people/Person.js"
import s from "./Groups.module.css"

export interface PickPeopleProps {
  chosen: readonly string[]
  onChange: (ids: readonly string[]) => void
  /** Who is in already, and cannot be chosen. */
  without?: ReadonlySet<string> | undefined
}

/** Chooses people: contacts, and whom else a name finds. */
export function PickPeople({ chosen, onChange, without }: PickPeopleProps) {
  const { t, i18n } = useLingui()
  const { contacts } = useBook()
  const [query, setQuery] = useState("")
  const others = useOthers(query.trim())
  const known = onShelf(contacts, "contacts", i18n.locale).filter((c) => c.user.deleted !== true && fits(c, query)).map((c) => c.user.id)
  const found = others.filter((id) => !contacts.has(id))
  const toggle = (id: string): void => onChange(chosen.includes(id) ? chosen.filter((x) => x !== id) : [...chosen, id])
  const line = (id: string) => <Pick key={id} id={id} checked={chosen.includes(id)} inside={without?.has(id) === true} onToggle={() => toggle(id)} />
  return (
    <div className={s.form}>
      {chosen.length > 0 && <div className={s.chosen}>{chosen.map((id) => <Chip key={id} id={id} onRemove={() => toggle(id)} />)}</div>}
      <Field bare label={t`Find people`} type="search" value={query} onChange={(e) => setQuery(e.currentTarget.value)} placeholder={t`Name or user name`} before={<Search aria-hidden="true" />} autoComplete="off" maxLength={64} />
      <div className={s.people}>
        {known.map(line)}
        {found.length > 0 && <h3 className={s.heading}><Trans>On this server</Trans></h3>}
        {found.map(line)}
        {known.length + found.length === 0 && <Note>{query.trim() === "" ? <Trans>No contacts yet. Type a name to find people.</Trans> : <Trans>No matching people.</Trans>}</Note>}
      </div>
    </div>
  )
}

function Pick({ id, checked, inside, onToggle }: { id: string; checked: boolean; inside: boolean; onToggle: () => void }) {
  const { t } = useLingui()
  const user = useUser(id)
  const name = useCalled(id)
  const below = inside ? t`already a member` : user?.username ? `@${user.username}` : ""
  return (
    <button type="button" role="checkbox" aria-checked={checked || inside} disabled={inside} className={s.pick} onClick={onToggle}>
      <Face id={id} size="s" />
      <span className={s.pickWords}><bdi>{name}</bdi>{below !== "" && <span className={s.quiet}>{below}</span>}</span>
      <span className={s.tick} aria-hidden="true"><Check /></span>
    </button>
  )
}

function Chip({ id, onRemove }: { id: string; onRemove: () => void }) {
  const { t } = useLingui()
  const name = useCalled(id)
  return <button type="button" className={s.chip} aria-label={t`Remove ${name}`} onClick={onRemove}><Face id={id} size="xs" /><bdi>{name}</bdi><X aria-hidden="true" /></button>
}

/** Who else is found by the beginning of a name; nobody while that is not known. */
function useOthers(query: string): readonly string[] {
  const client = useClient()
  const profiles = useProfiles()
  const [found, setFound] = useState<{ query: string; ids: readonly string[] }>({ query: "", ids: [] })
  useEffect(() => {
    if (query === "") return undefined
    const stop = new AbortController()
    const timer = setTimeout(() => {
      client.call("skein.v1.UserService/SearchUsers", { prefix: query.replace(/^@/, ""), limit: 20 }, { signal: stop.signal }).then(({ users = [] }) => {
        profiles.put(users)
        setFound({ query, ids: users.map((u) => u.id).filter((id) => id !== client.user) })
      }, () => undefined) // contacts are there in any case
    }, 250)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [client, profiles, query])
  return found.query === query ? found.ids : []
}
