import { Trans, useLingui } from "@lingui/react/macro"
import { useClient, useProfiles } from "@skein-im/react"
import { Search, UserPlus, Users as Sign } from "lucide-react"
import { useState } from "react"
import { sizeOf } from "../timeline/format.js"
import { nameOf } from "../timeline/names.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { Button, Empty, Field, Tabs, Tag } from "../ui/index.js"
import { may } from "./access.js"
import { asked, viewOf, type Account, type View } from "./accounts.js"
import s from "./Admin.module.css"
import { NewUser } from "./NewUser.js"
import { Page, RoleTag, StateTag, When } from "./parts.js"
import { usePaged, useQuery, useTyped } from "./query.js"
import { Table, type Column } from "./Table.js"
import { useCall, useRole } from "./useRole.js"

const perPage = 50

/** Everybody who has an account here, one page at a time. */
export function Users() {
  const { t } = useLingui()
  const call = useCall()
  const profiles = useProfiles()
  const role = useRole()
  const query = useQuery()
  const [typed, setTyped] = useTyped("q")
  const [making, setMaking] = useState(false)
  const view = viewOf(query.get("view"))
  const q = query.get("q")
  const of = usePaged<Account>(`${view} ${q}`, async (cursor, signal) => {
    const page = await call("skein.v1.AdminService/ListUsers", { limit: perPage, cursor, query: q.slice(0, 64), ...asked(view) }, { signal })
    profiles.put(page.users ?? [])
    return { rows: page.accounts ?? [], next: page.next ?? "" }
  })
  const titles: Record<View, string> = { all: t`All`, roles: t`With a role`, banned: t`Banned`, disabled: t`Disabled`, guests: t`Guests`, deleted: t`Deleted` }
  return (
    <Page title={t`Users`} actions={may(role, "manage") && <Button look="primary" icon={<UserPlus />} onClick={() => setMaking(true)}><Trans>New user</Trans></Button>}>
      <Field className={s.find} label={t`Find users`} bare type="search" before={<Search aria-hidden="true" />} placeholder={t`Beginning of a name or user name, or an id`} maxLength={64} value={typed} onChange={(e) => setTyped(e.currentTarget.value)} />
      <Tabs label={t`Which users`} value={view} onChange={(v) => query.set({ view: v === "all" ? "" : v })} tabs={(Object.keys(titles) as View[]).map((v) => ({ value: v, label: titles[v] }))} />
      <Table label={t`Users`} of={of} columns={useColumns()} keyOf={(a) => a.user?.id ?? ""} to={(a) => `/admin/users/${a.user?.id ?? ""}`}
        empty={q !== "" ? <Empty icon={<Search />} title={t`Nobody with that name`}><Trans>Names and user names are found by their beginning.</Trans></Empty>
          : view === "guests" ? <Empty icon={<Sign />} title={t`No guests`} /> : <Empty icon={<Sign />} title={t`Nobody`}><Trans>No account fits.</Trans></Empty>} />
      {making && <NewUser onClose={() => setMaking(false)} onDone={of.reload} />}
    </Page>
  )
}

function useColumns(): readonly Column<Account>[] {
  const { t } = useLingui()
  const client = useClient()
  return [
    {
      key: "user", head: t`User`, wide: true, cell: (a) => (
        <span className={s.who}>
          <PersonAvatar user={a.user?.id ?? ""} size="s" />
          <span className={s.whoWords}>
            <span className={s.whoName}><bdi className={s.cut}>{nameOf(a.user)}</bdi><span className={s.tags}><RoleTag role={a.role} />{a.user?.id === client.user && <Tag><Trans>You</Trans></Tag>}</span></span>
            <span className={`${s.below} ${s.cut}`}>{a.user?.username || a.user?.id}</span>
          </span>
        </span>
      ),
    },
    { key: "state", head: t`State`, cell: (a) => <StateTag of={a} /> },
    { key: "devices", head: t`Devices`, from: "m", number: true, cell: (a) => a.sessions ?? 0 },
    { key: "storage", head: t`Storage`, from: "l", number: true, cell: (a) => (Number(a.storageBytes ?? 0) === 0 ? <span className={s.faint}>—</span> : sizeOf(Number(a.storageBytes))) },
    { key: "seen", head: t`Last seen`, from: "s", cell: (a) => <When ms={Number(a.lastSeenAtMs ?? 0)} /> },
  ]
}
