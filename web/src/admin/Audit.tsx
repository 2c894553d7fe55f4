import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { useAction } from "@skein-im/react"
import { Download, ScrollText, X } from "lucide-react"
import { useEffect, useRef, useState } from "react"
import { Actions, Form } from "../settings/parts.js"
import { momentOf } from "../timeline/format.js"
import { Button, Checkbox, Dialog, Empty, Field, Note, Select, Tag, toast } from "../ui/index.js"
import { accountNamed } from "./accounts.js"
import { actName, actOf, acts } from "./acts.js"
import s from "./Admin.module.css"
import { askedOf, detailOf, exportLines, readFilters, targetOf, type Filters, type Kind, type Line, type Span } from "./audit.js"
import { Facts, Page, PersonLink, Refusal, useRoleName, When } from "./parts.js"
import { usePaged, useQuery } from "./query.js"
import { Table, type Column } from "./Table.js"
import { Target } from "./Target.js"
import { useCall } from "./useRole.js"

const perPage = 100

/** Who did what, and who came in or tried to. */
export function Audit() {
  const { t } = useLingui()
  const call = useCall()
  const query = useQuery()
  const filters = readFilters(query.get)
  const [open, setOpen] = useState<Line | undefined>(undefined)
  const [exporting, setExporting] = useState(false)
  const of = usePaged<Line>(JSON.stringify(filters), async (cursor, signal) => {
    const page = await call("skein.v1.AdminService/ListAuditLog", { ...askedOf(filters, Date.now()), limit: perPage, cursor }, { signal })
    return { rows: page.entries ?? [], next: page.next ?? "" }
  })
  return (
    <Page title={t`Audit log`} about={<Trans>Every act of an administrator, also the refused ones, and everybody who signed in or tried to. Times are in your time zone.</Trans>}
      actions={<Button icon={<Download />} onClick={() => setExporting(true)}><Trans>Export</Trans></Button>}>
      <FilterRow of={filters} set={query.set} />
      <Table label={t`Audit log`} of={of} columns={useColumns()} keyOf={(l) => `${l.atMs} ${l.id}`} onOpen={setOpen} empty={<Empty icon={<ScrollText />} title={t`Nothing that fits`}><Trans>With other filters there may be something.</Trans></Empty>} />
      {open !== undefined && <LineDialog of={open} onClose={() => setOpen(undefined)} />}
      {exporting && <ExportDialog filters={filters} onClose={() => setExporting(false)} />}
    </Page>
  )
}

function useColumns(): readonly Column<Line>[] {
  const { t } = useLingui()
  return [
    { key: "act", head: t`What`, wide: true, cell: (l) => <span className={s.auditAct}><span className={s.auditName}>{actOf(l)}{(l.times ?? 0) > 1 && ` × ${l.times ?? 0}`}</span><span className={s.auditWhen}>{momentOf(Number(l.atMs ?? 0))}</span></span> },
    { key: "by", head: t`Who`, from: "s", cell: (l) => <By of={l} /> },
    { key: "to", head: t`To whom`, from: "m", cell: (l) => <Target of={targetOf(l)} /> },
    { key: "from", head: t({ context: "address of a sign-in", message: "From" }), from: "l", cell: (l) => <span className={`${s.mono} ${s.id}`} title={l.address}>{l.address || "—"}</span> },
    { key: "at", head: t`When`, from: "s", cell: (l) => <When ms={Number(l.atMs ?? 0)} /> },
    { key: "result", head: t`Result`, cell: (l) => <Result of={l} /> },
  ]
}

/** Who did it: a user, the admin key, or somebody who did not get in. */
function By({ of }: { of: Line }) {
  if ((of.by ?? "") !== "") return <PersonLink user={of.by ?? ""} />
  return <span className={s.faint}>{of.kind === "AUDIT_KIND_ADMIN" ? <Trans>The admin key</Trans> : "—"}</span>
}

function Result({ of }: { of: Line }) {
  const code = of.code ?? ""
  if (code === "") return <Tag tone="success"><Trans>done</Trans></Tag>
  return <Tag tone={code === "unknown" ? "warning" : "danger"}>{code}</Tag>
}

function FilterRow({ of, set }: { of: Filters; set: (changes: Readonly<Record<string, string>>) => void }) {
  const { t } = useLingui()
  return (
    <div className={s.filters} role="group" aria-label={t`Filters`}>
      <Select<Kind> label={t`Type of entry`} value={of.kind} onChange={(v) => set({ kind: v, action: "" })} options={[{ value: "", label: t`Everything` }, { value: "admin", label: t`Acts of administrators` }, { value: "sign-in", label: t`Sign-ins` }]} />
      <Select<Span> label={t`Since`} value={of.span} onChange={(v) => set({ span: v === "all" ? "" : v })} options={[{ value: "all", label: t`The beginning` }, { value: "day", label: t`24 hours ago` }, { value: "week", label: t`7 days ago` }, { value: "month", label: t`30 days ago` }]} />
      {of.kind !== "sign-in" && <Select label={t`Act`} value={of.action} onChange={(v) => set({ action: v })} options={[{ value: "", label: t`Any` }, ...acts.map((a) => ({ value: a, label: actName(a) })), ...(of.action === "" || acts.some((a) => a === of.action) ? [] : [{ value: of.action, label: actName(of.action) }])]} />}
      <Who key={`by ${of.by}`} label={t`Done by`} value={of.by} onChange={(v) => set({ by: v })} />
      <Who key={`to ${of.target}`} label={t`Done to`} value={of.target} onChange={(v) => set({ target: v })} />
      <Checkbox label={t`Only what failed`} checked={of.failed} onChange={(now) => set({ failed: now ? "1" : "" })} />
    </div>
  )
}

/** A user by their name or id; any other id is taken as it is. */
function Who({ label, value, onChange }: { label: string; value: string; onChange: (id: string) => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [typed, setTyped] = useState(value)
  const find = useAction(async () => {
    const name = typed.trim()
    if (name === value) return
    if (name === "") return onChange("")
    const found = await accountNamed(call, name)
    onChange(found?.user?.id ?? name.replace(/^@/, ""))
  })
  return (
    <form onSubmit={(e) => { e.preventDefault(); void find.run() }}>
      <Field label={label} value={typed} placeholder={t`User name or id`} maxLength={200} autoCapitalize="none" spellCheck={false} autoComplete="off" enterKeyHint="search" onChange={(e) => setTyped(e.currentTarget.value)} onBlur={() => void find.run()}
        error={find.error === undefined ? undefined : t`That could not be looked up.`}
        after={typed === "" ? undefined : <button type="button" className={s.clear} aria-label={t`Clear`} onMouseDown={(e) => e.preventDefault()} onClick={() => { setTyped(""); onChange("") }}><X aria-hidden="true" /></button>} />
    </form>
  )
}

/** All of a line. */
function LineDialog({ of, onClose }: { of: Line; onClose: () => void }) {
  const { t } = useLingui()
  const role = useRoleName()
  const target = targetOf(of)
  return (
    <Dialog open onClose={onClose} title={actOf(of)} about={momentOf(Number(of.atMs ?? 0))}>
      <Facts of={[
        [t`Result`, <Result key="r" of={of} />],
        [t`Who`, <By key="b" of={of} />],
        ...(of.kind === "AUDIT_KIND_ADMIN" ? [[t`Role`, role(of.role)] as const] : []),
        ...(target === undefined ? [] : [[t`To whom`, <Target key="t" of={target} />] as const]),
        [t`Address`, of.address || "—"],
        [t`Device`, of.device || "—"],
        [t`Method`, <span key="m" className={s.mono}>{of.action}</span>],
        ...((of.times ?? 0) > 1 ? [[t`How often`, String(of.times)] as const] : []),
      ]} />
      {(of.detail ?? "") !== "" && <pre className={s.detail} tabIndex={0} aria-label={t`What was asked for`}>{detailOf(of.detail ?? "")}</pre>}
    </Dialog>
  )
}

/** Takes what fits the filters away as a file. */
function ExportDialog({ filters, onClose }: { filters: Filters; onClose: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [lines, setLines] = useState(0)
  const [more, setMore] = useState(false)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const run = useAction(async () => {
    stop.current = new AbortController()
    setLines(0)
    const got = await exportLines(call, askedOf(filters, Date.now()), stop.current.signal, setLines)
    saveLines(`skein-audit-${new Date().toISOString().slice(0, 10)}.jsonl`, got.parts)
    setMore(got.more)
    if (!got.more) { onClose(); toast(t`The file is saved.`) }
  })
  return (
    <Dialog open onClose={onClose} title={t`Export the audit log`} size="s" about={t`What fits the filters, the oldest first, one JSON object a line, as “skein audit” writes it.`}>
      <Form onSubmit={() => void run.run()}>
        {(run.pending || more) && <p role="status"><Plural value={lines} one="# line read" other="# lines read" /></p>}
        {more && <Note tone="warning"><Trans>There is more than a browser can hold. The file has the oldest lines; “skein audit” writes all of them.</Trans></Note>}
        <Refusal error={run.error} />
        <Actions><Button onClick={onClose}>{run.pending ? <Trans>Stop</Trans> : <Trans>Close</Trans>}</Button><Button look="primary" submit busy={run.pending} icon={<Download />}><Trans>Save as a file</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}

function saveLines(name: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: "application/x-ndjson" }))
  const a = document.createElement("a")
  a.href = url
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
