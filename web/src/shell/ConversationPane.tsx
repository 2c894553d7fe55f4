import { useLingui } from "@lingui/react/macro"
import { ArrowLeft, Bookmark, PanelRight, Search } from "lucide-react"
import { Suspense } from "react"
import { Link, useLocation } from "wouter"
import { useTitle } from "../conversations/title.js"
import { About } from "../conversations/About.js"
import { Avatar, IconButton, Loading } from "../ui/index.js"
import { Composer, Timeline } from "./rooms.js"
import s from "./ConversationPane.module.css"

/** A conversation: who it is with, what was said, and a place to say more. */
export function ConversationPane({ conversation, focusSeq, aside }: { conversation: string; focusSeq?: number | undefined; aside?: "details" | number | undefined }) {
  const { t } = useLingui()
  const [, go] = useLocation()
  const title = useTitle(conversation)
  const here = `/c/${conversation}`
  const details = aside === "details"
  return (
    <>
      <header className={s.head}>
        <IconButton label={t`Back`} className={s.back} onClick={() => go("/")}><ArrowLeft /></IconButton>
        <Link to={details ? here : `${here}/details`} className={s.who}>
          {title.kind === "saved" ? <span className={s.saved} aria-hidden="true"><Bookmark /></span> : <Avatar id={title.id} name={title.name} src={title.picture} group={title.kind === "group"} size="s" online={title.online} />}
          <span className={s.names}>
            <h1 className={s.name}><bdi>{title.name}</bdi></h1>
            <span className={s.about}><About conversation={conversation} title={title} /></span>
          </span>
        </Link>
        <IconButton label={t`Search here`} onClick={() => go(`/search?in=${encodeURIComponent(conversation)}`)}><Search /></IconButton>
        <IconButton label={t`Details`} on={details} onClick={() => go(details ? here : `${here}/details`)}><PanelRight /></IconButton>
      </header>
      <div className={s.timeline}>
        <Suspense fallback={<Loading />}><Timeline conversation={conversation} {...(focusSeq === undefined ? {} : { focusSeq })} /></Suspense>
      </div>
      <Suspense fallback={<div className={s.composer} />}><Composer conversation={conversation} /></Suspense>
    </>
  )
}
