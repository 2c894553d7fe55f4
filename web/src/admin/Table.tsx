import { Trans, useLingui } from "@lingui/react/macro"
import { useConnection } from "@skein-im/react"
import { ChevronLeft, ChevronRight, WifiOff } from "lucide-react"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { Button, cx, Empty, Skeleton } from "../ui/index.js"
import { Refusal } from "./parts.js"
import type { Paged } from "./query.js"
import s from "./Table.module.css"

export interface Column<T> {
  key: string
  head: string
  cell: (row: T) => ReactNode
  /** Left out where there is no room for it: below a small, medium or large width. */
  from?: "s" | "m" | "l"
  /** Numbers, at the end of the line. */
  number?: boolean
  /** Takes the room that the others leave. */
  wide?: boolean
}

interface TableProps<T> {
  label: string
  columns: readonly Column<T>[]
  of: Paged<T>
  keyOf: (row: T) => string
  /** The page of a row; its first cell is the link, and the whole line is touched. */
  to?: (row: T) => string
  onOpen?: (row: T) => void
  empty: ReactNode
}

/** One page of a long list in whatever form, with the way to the next: what could not be read, is not here, or is empty says so. */
export function Pages<T>({ of, empty, children }: { of: Paged<T>; empty: ReactNode; children: (rows: readonly T[] | undefined) => ReactNode }) {
  const offline = useConnection().state !== "connected"
  const { rows } = of
  if (of.error !== undefined && rows === undefined) return <Failed of={of} />
  if (rows === undefined && offline) return <Offline />
  if (rows !== undefined && rows.length === 0 && of.page === 1 && !of.loading && of.onNext === undefined) return <>{empty}</>
  return (
    <div className={s.frame}>
      {of.error !== undefined && <Failed of={of} />}
      {children(rows)}
      {(of.onBack !== undefined || of.onNext !== undefined) && <Pager of={of} />}
    </div>
  )
}

/** A page of a list as a table. */
export function Table<T>({ label, columns, of, keyOf, to, onOpen, empty }: TableProps<T>) {
  const column = (c: Column<T>): string => cx(c.from !== undefined && s[c.from], c.number && s.number, c.wide && s.wide)
  return (
    <Pages of={of} empty={empty}>
      {(rows) => <div className={s.scroll} aria-busy={of.loading}>
        <table className={s.table}>
          <caption className="visually-hidden">{label}</caption>
          <thead><tr>{columns.map((c) => <th key={c.key} scope="col" className={column(c)}>{c.head}</th>)}</tr></thead>
          <tbody>
            {rows === undefined
              ? Array.from({ length: 8 }, (_, i) => <tr key={i} className={s.row}>{columns.map((c, n) => <td key={c.key} className={column(c)}><Skeleton width={n === 0 ? "55%" : "40%"} /></td>)}</tr>)
              : rows.map((r) => (
                <tr key={keyOf(r)} className={cx(s.row, (to ?? onOpen) !== undefined && s.touched)}>
                  {columns.map((c, n) => (
                    <td key={c.key} className={column(c)}>
                      {n > 0 ? c.cell(r)
                        : to !== undefined ? <Link to={to(r)} className={s.link}>{c.cell(r)}</Link>
                          : onOpen !== undefined ? <button type="button" className={s.link} aria-haspopup="dialog" onClick={() => onOpen(r)}>{c.cell(r)}</button> : c.cell(r)}
                    </td>
                  ))}
                </tr>
              ))}
          </tbody>
        </table>
      </div>}
    </Pages>
  )
}

function Pager<T>({ of }: { of: Paged<T> }) {
  const { t } = useLingui()
  const { page } = of
  return (
    <nav className={s.pager} aria-label={t`Pages`}>
      <Button look="quiet" icon={<ChevronLeft />} disabled={of.onBack === undefined || of.loading} onClick={of.onBack}>{of.page === 0 ? <Trans>First page</Trans> : <Trans>Previous</Trans>}</Button>
      <span className={s.where} aria-live="polite">{page > 0 && <Trans>Page {page}</Trans>}</span>
      <Button look="quiet" disabled={of.onNext === undefined || of.loading} onClick={of.onNext}><Trans context="page of a list">Next</Trans><ChevronRight className={s.after} aria-hidden="true" /></Button>
    </nav>
  )
}

function Failed<T>({ of }: { of: Paged<T> }) {
  return <div className={s.failed}><Refusal error={of.error} /><Button onClick={of.reload}><Trans>Try again</Trans></Button></div>
}

/** Nothing is here because there is no connection; it comes by itself. */
export function Offline() {
  const { t } = useLingui()
  return <Empty icon={<WifiOff />} title={t`You are offline`}><Trans>This is shown as soon as you’re online.</Trans></Empty>
}
