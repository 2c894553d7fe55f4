import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { useClient, useProfiles, type User } from "@skein-im/react"
import { Search, UserPlus, Users as Sign } from "lucide-react"
import { useDeferredValue, useMemo, useState } from "react"
import { Page, Reading, Row, Section } from "../settings/parts.js"
import { useLoad } from "../settings/useLoad.js"
import s from "../settings/Settings.module.css"
import { nameOf } from "../timeline/names.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { Button, Empty, Field, Tabs, Tag } from "../ui/index.js"
import { matching } from "./find.js"
import { NewUser } from "./NewUser.js"
import { UserDialog } from "./UserDialog.js"

/** So many users are read and looked through here; so many are shown at a time. */
const mostRead = 10_000
const shownAtOnce = 100

/** Everybody who has an account here. */
export function Users() {
  const { t } = useLingui()
  const client = useClient()
  const profiles = useProfiles()
  const [kind, setKind] = useState<"users" | "guests">("users")
  const [find, setFind] = useState("")
  const [most, setMost] = useState(shownAtOnce)
  const [open, setOpen] = useState<User | undefined>(undefined)
  const [making, setMaking] = useState(false)
  const all = useLoad(async (signal) => {
    const found: User[] = []
    let cursor = ""
    do {
      const page = await client.call("skein.v1.AdminService/ListUsers", { limit: 500, cursor, guests: kind === "guests" }, { signal })
      found.push(...(page.users ?? []))
      cursor = page.next ?? ""
    } while (cursor !== "" && found.length < mostRead)
    profiles.put(found)
    return { users: found, more: cursor !== "" }
  }, kind)
  const wanted = useDeferredValue(find)
  const fit = useMemo(() => matching(all.data?.users ?? [], wanted), [all.data, wanted])
  return (
    <Page title={t`Users`} actions={<Button look="primary" icon={<UserPlus />} onClick={() => setMaking(true)}><Trans>New user</Trans></Button>}>
      <Tabs label={t`Who`} value={kind} onChange={setKind} tabs={[{ value: "users", label: t`Users` }, { value: "guests", label: t`Guests` }]} />
      <Field label={t`Find`} bare type="search" before={<Search aria-hidden="true" />} placeholder={t`Name, user name or id`} value={find} onChange={(e) => { setFind(e.currentTarget.value); setMost(shownAtOnce) }} />
      <Reading of={all}>
        {({ users, more }) => users.length === 0 ? <Empty icon={<Sign />} title={kind === "guests" ? t`Guests aren’t allowed` : t`Nobody is here yet`} /> : fit.length === 0 ? <Empty icon={<Search />} title={t`Nobody with that name`} /> : (
          <Section title={wanted.trim() === "" ? undefined : t`Found`} about={more ? <Trans>Only the first {mostRead} are looked through.</Trans> : <Plural value={fit.length} one="# user" other="# users" />}>
            {fit.slice(0, most).map((u) => (
              <button key={u.id} type="button" className={s.rowButton} onClick={() => setOpen(u)}>
                <Row icon={<PersonAvatar user={u.id} size="s" />} title={nameOf(u)} about={u.username || u.id} tag={u.deleted === true ? <Tag tone="danger"><Trans>Deleted</Trans></Tag> : u.guest === true ? <Tag><Trans>Guest</Trans></Tag> : u.id === client.user ? <Tag tone="accent"><Trans>You</Trans></Tag> : undefined} />
              </button>
            ))}
            {fit.length > most && <Row title={<Plural value={fit.length - most} one="# more" other="# more" />}><Button onClick={() => setMost(most + shownAtOnce)}><Trans>Show more</Trans></Button></Row>}
          </Section>
        )}
      </Reading>
      {open !== undefined && <UserDialog user={open} onClose={() => setOpen(undefined)} onChanged={(u) => { setOpen(u); all.reload() }} />}
      {making && <NewUser onClose={() => setMaking(false)} onDone={all.reload} />}
    </Page>
  )
}
