import { Trans, useLingui } from "@lingui/react/macro"
import type { Response } from "@skein-im/client"
import { useAction } from "@skein-im/react"
import { Crown, UserRoundPlus } from "lucide-react"
import { useState } from "react"
import { useLocation } from "wouter"
import { Actions, Form, Reading, Row, Section } from "../settings/parts.js"
import { useLoad } from "../settings/useLoad.js"
import { dayName, momentOf } from "../timeline/format.js"
import { nameOf } from "../timeline/names.js"
import { Avatar, Button, Dialog, Empty, Field, Tag, toast } from "../ui/index.js"
import { may } from "./access.js"
import { accountNamed, accountOf, type Account } from "./accounts.js"
import s from "./Admin.module.css"
import type { Group } from "./Groups.js"
import { Facts, Page, PersonLink, Refusal } from "./parts.js"
import { usePaged } from "./query.js"
import { RetentionOf } from "./Retention.js"
import { Table, type Column } from "./Table.js"
import { useCall, useRole } from "./useRole.js"

type Member = NonNullable<Response<"skein.v1.AdminService/InspectGroup">["members"]>[number]

const perPage = 100

/** A group: whose it is, who is in it, and its end. */
export function GroupPage({ id }: { id: string }) {
  const { t } = useLingui()
  const call = useCall()
  const group = useLoad(async (signal) => (await call("skein.v1.AdminService/InspectGroup", { conversation: id, limit: 1 }, { signal })).group ?? {}, id)
  return <Page narrow title={t`Group`} back="/admin/groups"><Reading of={group}>{(g) => <One id={id} of={g as Group} onChanged={group.reload} />}</Reading></Page>
}

function One({ id, of, onChanged }: { id: string; of: Group; onChanged: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const role = useRole()
  const [, go] = useLocation()
  const [doing, setDoing] = useState<"owner" | "close" | undefined>(undefined)
  const [chosen, setChosen] = useState<string | undefined>(undefined)
  const members = usePaged<Member>(`${id} ${of.owner ?? ""}`, async (cursor, signal) => {
    const page = await call("skein.v1.AdminService/InspectGroup", { conversation: id, limit: perPage, cursor }, { signal })
    return { rows: page.members ?? [], next: page.next ?? "" }
  })
  const moderates = may(role, "moderate")
  const columns = useColumns(of, moderates ? (user) => { setChosen(user); setDoing("owner") } : undefined)
  return (
    <div className={s.column}>
      <section className={s.card} aria-label={t`Group`}>
        <div className={s.identity}>
          <Avatar id={id} name={of.name ?? ""} size="l" group />
          <div className={s.identityWords}>
            <span className={s.identityName}><bdi>{of.name}</bdi></span>
            {(of.description ?? "") !== "" && <span className={s.below}>{of.description}</span>}
          </div>
        </div>
        <Facts of={[
          [t`Id`, <span key="id" className={s.mono}>{id}</span>],
          [t({ context: "of a group", message: "Owner" }), (of.owner ?? "") === "" ? "—" : <PersonLink key="owner" user={of.owner ?? ""} />],
          [t`Members`, of.members ?? 0],
          [t`Created`, momentOf(Number(of.createdAtMs ?? 0))],
        ]} />
      </section>
      <section className={s.section}>
        <div className={s.sectionHead}><h2><Trans>Members</Trans></h2></div>
        <Table label={t`Members`} of={members} columns={columns} keyOf={(m) => m.user ?? ""} empty={<Empty title={t`Nobody`} />} />
      </section>
      <RetentionOf conversation={id} />
      {moderates && (
        <>
          <Section title={t`Ownership`}>
            <Row title={t`Another owner`} about={t`For a group whose owner is gone: a member, or somebody who is added by it.`}><Button onClick={() => { setChosen(undefined); setDoing("owner") }}><Trans>Change…</Trans></Button></Row>
          </Section>
          <Section title={t`Danger zone`} danger>
            <Row title={t`Close the group`} about={t`Nobody can read or write in it any more. This can’t be undone.`}><Button onClick={() => setDoing("close")}><Trans>Close…</Trans></Button></Row>
          </Section>
        </>
      )}
      {doing === "owner" && <HandOn group={of} id={id} user={chosen} onClose={() => setDoing(undefined)} onDone={() => { setDoing(undefined); onChanged(); members.reload(); toast(t`The group has another owner.`) }} />}
      {doing === "close" && <CloseGroup group={of} id={id} onClose={() => setDoing(undefined)} onDone={() => { toast(t`The group is closed.`); go("/admin/groups", { replace: true }) }} />}
    </div>
  )
}

function useColumns(group: Group, hand: ((user: string) => void) | undefined): readonly Column<Member>[] {
  const { t } = useLingui()
  const columns: Column<Member>[] = [
    { key: "member", head: t`Member`, wide: true, cell: (m) => <span className={s.whoName}><PersonLink user={m.user ?? ""} />{m.user === group.owner ? <Tag tone="accent">{t({ context: "of a group", message: "Owner" })}</Tag> : m.role === "ROLE_ADMIN" ? <Tag>{t({ context: "of a group", message: "Admin" })}</Tag> : null}</span> },
    { key: "joined", head: t`Joined`, from: "s", cell: (m) => (Number(m.joinedAtMs ?? 0) === 0 ? "—" : <span className={s.when}>{dayName(Number(m.joinedAtMs))}</span>) },
  ]
  if (hand !== undefined) columns.push({ key: "acts", head: t`Actions`, number: true, cell: (m) => m.user !== group.owner && <Button look="quiet" icon={<Crown />} onClick={() => hand(m.user ?? "")}><Trans>Make owner</Trans></Button> })
  return columns
}

/** Makes somebody the owner: a member who was chosen, or whoever is named. */
function HandOn({ group, id, user, onClose, onDone }: { group: Group; id: string; user: string | undefined; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [typed, setTyped] = useState("")
  const [unknown, setUnknown] = useState(false)
  const [found, setFound] = useState<Account | undefined>(undefined)
  const chosen = useLoad(async (signal) => ({ a: user === undefined ? undefined : await accountOf(call, user, signal) }), user ?? "")
  const name = nameOf(chosen.data?.a?.user)
  const called = (found?.user?.username ?? "") === "" ? found?.user?.id ?? "" : `@${found?.user?.username ?? ""}`
  const run = useAction(async () => {
    const to = user ?? found?.user?.id
    if (to === undefined) { // who was found is shown before anything is changed
      const a = await accountNamed(call, typed)
      setUnknown(a === undefined)
      setFound(a)
      return
    }
    await call("skein.v1.AdminService/SetGroupOwner", { conversation: id, user: to })
    onDone()
  })
  return (
    <Dialog open onClose={onClose} title={user === undefined ? t`Another owner for ${group.name ?? ""}` : t`Make ${name} the owner of ${group.name ?? ""}?`} size="s" about={t`Members see that as if the owner of before had done it; the owner of before becomes an admin of the group.`}>
      <Form onSubmit={() => void run.run()}>
        {user === undefined && <Field label={t`User name or id`} value={typed} onChange={(e) => { setTyped(e.currentTarget.value); setUnknown(false); setFound(undefined) }} required autoFocus autoCapitalize="none" spellCheck={false} autoComplete="off" before={<UserRoundPlus aria-hidden="true" />} hint={t`Who is no member is added.`} error={unknown ? t`There is no such user` : undefined} />}
        {found !== undefined && <p role="status"><Trans>Found: {nameOf(found.user)} ({called})</Trans></p>}
        <Refusal error={run.error} denied={t`This user can’t be added to the group, or can’t own it.`} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={run.pending}>{user === undefined && found === undefined ? t`Look up` : t`Make owner`}</Button></Actions>
      </Form>
    </Dialog>
  )
}

/** Ends a group for ever, once its name was typed. */
function CloseGroup({ group, id, onClose, onDone }: { group: Group; id: string; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [typed, setTyped] = useState("")
  const name = group.name ?? ""
  const run = useAction(async () => {
    await call("skein.v1.AdminService/CloseGroup", { conversation: id })
    onDone()
  })
  return (
    <Dialog open onClose={onClose} title={t`Close ${name} forever?`} size="s" about={t`All ${String(group.members ?? 0)} members lose the group at once. This can’t be undone.`}>
      <Form onSubmit={() => void run.run()}>
        <Field label={t`To confirm, type ${name}`} value={typed} onChange={(e) => setTyped(e.currentTarget.value)} required spellCheck={false} autoComplete="off" />
        <Refusal error={run.error} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="danger" submit busy={run.pending} disabled={typed.trim() !== name.trim()}><Trans>Close the group</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
