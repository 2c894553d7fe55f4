import { Trans, useLingui } from "@lingui/react/macro"
import { UserPlus } from "lucide-react"
import { useEffect, useState } from "react"
import { useLocation } from "wouter"
import { SkeinError } from "@skein-im/client"
import { errorFrom, useClient, useProfiles, type User } from "@skein-im/react"
import { Button, ErrorNote, Note, Spinner } from "../ui/index.js"
import { AddDialog } from "./AddDialog.js"
import { shelfOf, useBook } from "./book.js"
import { Person } from "./Person.js"
import s from "./People.module.css"

const debounceMs = 250

interface Search {
  query: string
  users: readonly User[]
  next: string
  error: SkeinError | undefined
}

/** People of this server whose names begin so, or whose user name it is, without those who are contacts already. */
export function Found({ query }: { query: string }) {
  const { t } = useLingui()
  const [, go] = useLocation()
  const client = useClient()
  const profiles = useProfiles()
  const { contacts } = useBook()
  const [found, setFound] = useState<Search | undefined>(undefined)
  const [adding, setAdding] = useState<string | undefined>(undefined)
  const [tries, setTries] = useState(0)
  const [more, setMore] = useState(false)
  useEffect(() => {
    const stop = new AbortController()
    const timer = setTimeout(() => {
      lookFor(client, query, "", stop.signal).then(
        ({ users, next }) => {
          profiles.put(users)
          setFound({ query, users, next, error: undefined })
        },
        (e: unknown) => {
          if (!stop.signal.aborted) setFound({ query, users: [], next: "", error: errorFrom(e) })
        },
      )
    }, debounceMs)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [client, profiles, query, tries])
  if (found === undefined) return <div className={s.heading}><Spinner small /></div>
  const loadMore = (): void => {
    setMore(true)
    lookFor(client, query, found.next, new AbortController().signal)
      .then(({ users, next }) => {
        profiles.put(users)
        setFound((was) => (was?.query === query ? { ...was, users: [...was.users, ...users], next } : was))
      }, (e: unknown) => setFound((was) => (was === undefined ? was : { ...was, error: errorFrom(e) })))
      .finally(() => setMore(false))
  }
  const others = found.users.filter((u) => {
    const c = contacts.get(u.id)
    return u.id !== client.user && (c === undefined || shelfOf(c) !== "contacts")
  })
  return (
    <section className={s.section} aria-busy={found.query !== query}>
      <h2 className={s.heading}><Trans>On this server</Trans></h2>
      {found.error !== undefined && <ErrorNote error={found.error} onRetry={() => setTries(tries + 1)} />}
      {others.length === 0 && found.error === undefined && <Note><Trans>Nobody else matches “{query}”. Some people can’t be found by name: ask them to add you.</Trans></Note>}
      <ul className={s.list}>
        {others.map((u) => {
          const c = contacts.get(u.id)
          const at = c === undefined ? undefined : shelfOf(c)
          return (
            <Person
              key={u.id} id={u.id} presence={false} onOpen={() => go(`/people/${u.id}`)}
              about={u.username ? `@${u.username}` : ""}
              end={at === "asked" ? <span className={s.below}>{t`Request sent`}</span> : at === "blocked" ? <span className={s.below}>{t`Blocked`}</span> : at === "asksMe" ? <Button onClick={() => go(`/people/${u.id}`)}><Trans>View request</Trans></Button> : <Button icon={<UserPlus />} onClick={() => setAdding(u.id)}><Trans>Add contact</Trans></Button>}
            />
          )
        })}
      </ul>
      {found.next !== "" && <Button look="quiet" className={s.more} busy={more} onClick={loadMore}><Trans>Show more</Trans></Button>}
      {adding !== undefined && <AddDialog user={adding} onClose={() => setAdding(undefined)} />}
    </section>
  )
}

/** A page of who is found; on the first, before all, who has exactly this user name. */
async function lookFor(client: ReturnType<typeof useClient>, query: string, cursor: string, signal: AbortSignal): Promise<{ users: User[]; next: string }> {
  const name = query.replace(/^@/, "")
  const [page, exact] = await Promise.all([
    client.call("skein.v1.UserService/SearchUsers", { prefix: name, limit: 20, cursor }, { signal }),
    cursor === "" && /^[a-zA-Z0-9_.-]{3,32}$/.test(name) ? client.call("skein.v1.UserService/FindUser", { username: name.toLowerCase() }, { signal }).catch(notFound) : undefined,
  ])
  const users = page.users ?? []
  const one = exact?.user
  return { users: one === undefined ? users : [one, ...users.filter((u) => u.id !== one.id)], next: page.next ?? "" }
}

function notFound(e: unknown): undefined {
  if (e instanceof SkeinError && (e.code === "not_found" || e.code === "invalid_argument")) return undefined
  throw e
}
