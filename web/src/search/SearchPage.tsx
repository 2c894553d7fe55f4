import { Trans, useLingui } from "@lingui/react/macro"
import { useConnection, useSearch } from "@skein-im/react"
import { ChevronLeft, Search as Sign, SearchX, WifiOff, X } from "lucide-react"
import { useEffect, useRef, useState } from "react"
import { Link, useLocation, useSearch as useQueryString } from "wouter"
import { Empty, ErrorNote, Field, IconButton, Loading, Note } from "../ui/index.js"
import { FilterBar } from "./FilterBar.js"
import { questionOf, readFilters, writeFilters, type Filters } from "./filters.js"
import { Behind, Hit } from "./Hit.js"
import { More } from "./More.js"
import { usePlaces } from "./places.js"
import s from "./Search.module.css"

/** Looks through all conversations, or one of them. What is looked for stands in the address. */
export function SearchPage() {
  const { t } = useLingui()
  const [, go] = useLocation()
  const address = useQueryString()
  const places = usePlaces()
  const [filters, setFilters] = useState(() => readFilters(address))
  const written = useRef(address)
  // Somebody went back, or another room sent them here with other words.
  useEffect(() => {
    if (address === written.current) return
    written.current = address
    setFilters(readFilters(address))
  }, [address])
  const change = (f: Filters): void => {
    setFilters(f)
    const to = writeFilters(f)
    written.current = to
    go(`/search${to === "" ? "" : `?${to}`}`, { replace: true })
  }
  const found = useSearch(questionOf(filters))
  const offline = useConnection().state !== "connected"
  return (
    <div className={s.page}>
      <header className={s.head}>
        <h1 className="visually-hidden">{t`Search`}</h1>
        {filters.conversation !== "" && <Link href={`/c/${filters.conversation}`} className={s.back} aria-label={t`Back to the conversation`}><ChevronLeft aria-hidden="true" /></Link>}
        <Field className={s.words} label={t`Search`} bare type="search" autoFocus before={<Sign aria-hidden="true" />} maxLength={200} enterKeyHint="search"
          placeholder={filters.conversation === "" ? t`Search all conversations` : t`Search in ${places.name(filters.conversation)}`}
          value={filters.query} onChange={(e) => change({ ...filters, query: e.currentTarget.value })}
          after={filters.query === "" ? undefined : <IconButton small tooltip={false} label={t`Clear`} onClick={() => change({ ...filters, query: "" })}><X /></IconButton>} />
      </header>
      <FilterBar filters={filters} places={places} onChange={change} />
      <div className={s.results} aria-busy={found.state === "searching"}>
        <Results found={found} offline={offline} filters={filters} place={(id) => (filters.conversation === "" ? places.name(id) : undefined)} />
      </div>
    </div>
  )
}

function Results({ found, offline, filters, place }: { found: ReturnType<typeof useSearch>; offline: boolean; filters: Filters; place: (conversation: string) => string | undefined }) {
  const { t } = useLingui()
  const { error } = found
  if (found.state === "idle") {
    return <Empty icon={<Sign />} title={filters.query.trim() === "" ? t`What are you looking for?` : t`Nothing to search for`}><Trans>Search words of messages and names of files, or choose a type above.</Trans></Empty>
  }
  if (found.state === "failed" && error !== undefined && found.found.length === 0) {
    if (error.code === "unimplemented") return <Empty icon={<SearchX />} title={t`Search is turned off`}><Trans>The administrator has turned search off.</Trans></Empty>
    if (error.code === "invalid_argument") return <Empty icon={<SearchX />} title={t`Nothing to search for`}><Trans>Punctuation alone can’t be found. Try a word.</Trans></Empty>
    return <div className={s.pad}><ErrorNote error={error} onRetry={found.retry} /></div>
  }
  if (offline && found.state === "searching") return <Empty icon={<WifiOff />} title={t`You are offline`}><Trans>Search needs a connection. It continues as soon as you’re online.</Trans></Empty>
  if (found.state === "searching" && found.found.length === 0) return <Loading />
  return (
    <>
      <p className="visually-hidden" role="status">{found.state === "searching" ? t`Searching` : found.found.length === 0 ? t`No results` : t`${found.found.length} messages are shown`}</p>
      {!found.complete && <Behind untilMs={found.knownUntilMs} onRetry={found.retry} />}
      {found.state === "failed" && error !== undefined && !found.more && <ErrorNote error={error} onRetry={found.retry} />}
      {found.found.length === 0 && !found.more && <Empty icon={<SearchX />} title={t`No results`}><Trans>Results contain every word. Try fewer words or other filters.</Trans></Empty>}
      <ol className={s.hits} data-old={found.state === "searching" || undefined}>
        {found.found.map((f) => <Hit key={`${f.entry?.conversation ?? ""} ${f.entry?.seq ?? ""}`} found={f} place={place(f.entry?.conversation ?? "")} />)}
      </ol>
      <More of={found} />
      {found.state === "done" && !found.more && found.found.length > 8 && <p className={s.end}><Trans>That’s everything.</Trans></p>}
      {found.found.length === 0 && found.more && <Note><Trans>Looking further back.</Trans></Note>}
    </>
  )
}
