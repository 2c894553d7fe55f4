import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { Ban, Eraser, Images, Link2, LogOut, Megaphone, MessagesSquare, Pencil, Settings2, Trash2, UserRoundCheck, UsersRound } from "lucide-react"
import { useState } from "react"
import { useLocation, useSearchParams } from "wouter"
import { dm } from "@skein-im/client"
import { useClient, useConversation } from "@skein-im/react"
import { Badge, Button, Confirm, ErrorNote, Loading, Note } from "../ui/index.js"
import { GroupFace } from "../people/Person.js"
import { Profile } from "../people/Profile.js"
import { Gallery } from "../search/Gallery.js"
import { Bans } from "./Bans.js"
import { GroupAbout } from "./GroupAbout.js"
import { GroupSettings } from "./GroupSettings.js"
import { JoinRequests, useJoinRequests } from "./JoinRequests.js"
import { Links } from "./Links.js"
import { Members } from "./Members.js"
import { Lifetime, MyThings } from "./MyThings.js"
import { Nickname } from "./Nickname.js"
import { Pane, Way } from "./Pane.js"
import { powersIn, type Group } from "./powers.js"
import { Retention } from "./Retention.js"
import { Threads } from "./Threads.js"
import { useGroup } from "./useGroup.js"
import s from "./Groups.module.css"

/** All about a conversation: who is in it, how it is set, what the user made of it for themselves. */
export function Details({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const [, go] = useLocation()
  const [search] = useSearchParams()
  if (search.has("media")) {
    return <Pane title={t`Pictures, files, links`} onBack={() => go(`/c/${conversation}/details`, { replace: true })}><Gallery conversation={conversation} /></Pane>
  }
  if (search.has("threads")) {
    return <Pane title={t`Threads`} onBack={() => go(`/c/${conversation}/details`, { replace: true })}><Threads conversation={conversation} /></Pane>
  }
  if (conversation.startsWith("grp:")) return <OfGroup conversation={conversation} />
  return <OfDirect conversation={conversation} />
}

/** The doors to what was sent besides words, and to what was said in threads. Their pages have addresses of their own. */
function MediaDoor({ conversation }: { conversation: string }) {
  const [, go] = useLocation()
  return (
    <section className={s.block}>
      <Way icon={<Images />} onClick={() => go(`/c/${conversation}/details?media`)}><Trans>Pictures, files, links</Trans></Way>
      <Way icon={<MessagesSquare />} onClick={() => go(`/c/${conversation}/details?threads`)}><Trans>Threads</Trans></Way>
    </section>
  )
}

function useClose(conversation: string): () => void {
  const [, go] = useLocation()
  return () => go(`/c/${conversation}`)
}

function OfDirect({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const client = useClient()
  const close = useClose(conversation)
  const peer = useConversation(conversation)?.peer ?? peerIn(conversation, client.user)
  const saved = client.user !== "" && conversation === dm(client.user, client.user)
  return (
    <Pane title={saved ? t`Saved messages` : t`Details`} onClose={close}>
      {saved ? <Note><Trans>Only you can see what you write here, on all your devices.</Trans></Note> : peer !== "" && <Profile user={peer} />}
      <MediaDoor conversation={conversation} />
      <MyThings conversation={conversation} />
      <Lifetime conversation={conversation} may />
      <Retention conversation={conversation} />
      <section className={s.block}><Clear conversation={conversation} /></section>
    </Pane>
  )
}

/** The other one in the name of a dm. */
function peerIn(conversation: string, user: string): string {
  const [, a = "", b = ""] = conversation.split(":")
  return a === user ? b : a
}

type Page = "main" | "about" | "settings" | "links" | "requests" | "bans" | "members"

function OfGroup({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const close = useClose(conversation)
  const { group, load, put } = useGroup(conversation)
  const [page, setPage] = useState<Page>("main")
  const member = useConversation(conversation)?.member
  const back = (): void => setPage("main")
  if (member === false) {
    return (
      <Pane title={t`Details`} onClose={close}>
        <Note><Trans>You are no longer in this group. You can still read what was said until you left.</Trans></Note>
        <MediaDoor conversation={conversation} />
        <MyThings conversation={conversation} />
        <section className={s.block}><Clear conversation={conversation} /></section>
      </Pane>
    )
  }
  if (group === undefined) return <Pane title={t`Details`} onClose={close}>{load.error === undefined ? <Loading /> : <ErrorNote error={load.error} onRetry={() => void load.run()} />}</Pane>
  const { manage } = powersIn(group)
  switch (page) {
    case "about":
      return <GroupAbout group={group} onBack={back} onDone={put} />
    case "settings":
      return manage ? <GroupSettings group={group} onBack={back} onDone={put} /> : null
    case "links":
      return manage ? <Links group={group} onBack={back} onDone={put} /> : null
    case "requests":
      return manage ? <JoinRequests group={group} onBack={back} /> : null
    case "bans":
      return manage ? <Bans group={group} onBack={back} /> : null
    case "members":
      return <Pane title={t`Members`} onBack={back}><Members group={group} onChanged={() => void load.run()} /></Pane>
    case "main":
      return <GroupMain group={group} onPage={setPage} onClose={close} onChanged={() => void load.run()} />
  }
}

function GroupMain({ group, onPage, onClose, onChanged }: { group: Group; onPage: (p: Page) => void; onClose: () => void; onChanged: () => void }) {
  const { t } = useLingui()
  const may = powersIn(group)
  const id = group.conversation
  return (
    <Pane title={t`Details`} onClose={onClose} end={may.manage && <Button look="quiet" icon={<Pencil />} onClick={() => onPage("about")}><Trans>Edit</Trans></Button>}>
      <div className={s.top}>
        <GroupFace id={id} name={group.name} picture={group.picture} size="xl" />
        <h2 className={s.name}><bdi>{group.name}</bdi></h2>
        <p className={s.quiet}><Plural value={group.members} one="# member" other="# members" />{group.whoMayPost === "GROUP_POWER_ADMINS" && <> · <Trans>only admins can write</Trans></>}{group.mutedAll === true && <> · <Trans>all are muted</Trans></>}</p>
        {group.description && <p className={s.description}>{group.description}</p>}
      </div>
      {group.announcement && <section className={s.notice}><h3><Megaphone aria-hidden="true" className="visually-hidden" /><Trans>Announcement</Trans></h3><p>{group.announcement}</p></section>}
      <Extra of={group.extra} />
      <MediaDoor conversation={id} />
      {may.manage && <Manage group={group} onPage={onPage} />}
      <MyThings conversation={id}>{may.nickname && <Nickname group={group} />}</MyThings>
      <Lifetime conversation={id} may={may.manage} />
      <Retention conversation={id} />
      <section className={s.block}>
        <Way icon={<UsersRound />} end={group.members} onClick={() => onPage("members")}><Trans>Members</Trans></Way>
        <Members group={group} few onChanged={onChanged} onAll={() => onPage("members")} />
      </section>
      <Ends group={group} />
    </Pane>
  )
}

function Extra({ of }: { of: Record<string, string> | undefined }) {
  const all = Object.entries(of ?? {})
  if (all.length === 0) return null
  return <dl className={s.block}>{all.map(([key, value]) => <div key={key}><dt className={s.quiet}><bdi>{key}</bdi></dt><dd>{value}</dd></div>)}</dl>
}

function Manage({ group, onPage }: { group: Group; onPage: (p: Page) => void }) {
  const { t } = useLingui()
  const { list } = useJoinRequests(group.conversation)
  const join = { JOIN_MODE_OPEN: t`anyone with a link`, JOIN_MODE_APPROVAL: t`by approval`, JOIN_MODE_INVITATION: t`by invitation only`, JOIN_MODE_UNSPECIFIED: "" }[group.join ?? "JOIN_MODE_UNSPECIFIED"]
  return (
    <section className={s.block}>
      <h3 className={s.heading}><Trans>For admins</Trans></h3>
      <Way icon={<Settings2 />} onClick={() => onPage("settings")}><Trans>Permissions</Trans></Way>
      <Way icon={<Link2 />} about={join} onClick={() => onPage("links")}><Trans>Invite links</Trans></Way>
      <Way icon={<UserRoundCheck />} end={<Badge count={list.length} label={t`${list.length} waiting`} />} onClick={() => onPage("requests")}><Trans>Requests to join</Trans></Way>
      <Way icon={<Ban />} onClick={() => onPage("bans")}><Trans>Banned</Trans></Way>
    </section>
  )
}

/** Takes away for the user alone what was said up to now. */
function Clear({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const client = useClient()
  const [asking, setAsking] = useState(false)
  const head = useConversation(conversation)?.head ?? 0
  return (
    <>
      <Way icon={<Eraser />} disabled={head === 0} onClick={() => setAsking(true)}><Trans>Clear the history for me</Trans></Way>
      <Confirm open={asking} onClose={() => setAsking(false)} title={t`Clear the history?`} action={t`Clear for me`} danger onConfirm={() => client.conversation(conversation).setMyState({ clearedBelow: String(head + 1) })}>
        <Trans>Everything said here so far is deleted from all your devices for good. Others keep it.</Trans>
      </Confirm>
    </>
  )
}

function Ends({ group }: { group: Group }) {
  const { t } = useLingui()
  const client = useClient()
  const [, go] = useLocation()
  const [asking, setAsking] = useState<"leave" | "dismiss" | undefined>(undefined)
  const may = powersIn(group)
  const { conversation, name } = group
  const leave = async (): Promise<void> => {
    await client.call("skein.v1.GroupService/LeaveGroup", { conversation })
    go("/")
  }
  const dismiss = async (): Promise<void> => {
    await client.call("skein.v1.GroupService/DismissGroup", { conversation })
    go("/")
  }
  return (
    <section className={s.block}>
      <Clear conversation={conversation} />
      {may.leave && <Way icon={<LogOut />} danger onClick={() => setAsking("leave")}><Trans>Leave the group</Trans></Way>}
      {may.own && <Way icon={<Trash2 />} danger onClick={() => setAsking("dismiss")}><Trans>Close the group</Trans></Way>}
      <Confirm open={asking === "leave"} onClose={() => setAsking(undefined)} title={t`Leave ${name}?`} action={t`Leave`} danger onConfirm={leave}>
        <Trans>You get no new messages from it. You can still read what was said so far.</Trans>
      </Confirm>
      <Confirm open={asking === "dismiss"} onClose={() => setAsking(undefined)} title={t`Close ${name}?`} action={t`Close for everyone`} danger onConfirm={dismiss}>
        <Plural value={group.members} one="You are its only member. Nobody can come back." other="All # members leave, and nobody can come back. They can still read what was said. If you only want to leave, make someone else the owner first." />
      </Confirm>
    </section>
  )
}
