import type { ReactElement } from "react"

/** Lines on a grid of 20, our own. */
const paths = {
  send: "M3.5 10 16.5 3.5 12.6 16.5 9.4 11.2ZM9.4 11.2 16.5 3.5",
  attach: "M15.5 9.3 9.9 14.9a3.4 3.4 0 0 1-4.8-4.8l6.1-6.1a2.3 2.3 0 0 1 3.2 3.2l-6 6a1.1 1.1 0 0 1-1.6-1.6l5.3-5.3",
  file: "M5.5 2.8h6l3.5 3.5v10.9h-9.5ZM11.3 2.8v3.7h3.7",
  clock: "M10 3.2a6.8 6.8 0 1 0 .01 0ZM10 6v4.2l2.6 1.7",
  check: "M4.5 10.5 8.2 14.2 15.5 6.3",
  checks: "M2.2 10.6 5.6 14.2 12.4 6.6M9.6 13.4 10.4 14.2 17.4 6.6",
  alert: "M10 3.2a6.8 6.8 0 1 0 .01 0ZM10 6.4v4.4M10 13.3v.1",
  down: "M10 4.5v11M5.2 10.8 10 15.5l4.8-4.7",
  more: "M4.6 10h.01M10 10h.01M15.4 10h.01",
  reply: "M8.2 4.8 3.6 9.4 8.2 14M3.6 9.4h7.9a4.9 4.9 0 0 1 4.9 4.9v1",
  close: "M5.2 5.2l9.6 9.6M14.8 5.2l-9.6 9.6",
} as const

export function Icon({ name }: { name: keyof typeof paths }): ReactElement {
  return (
    <svg viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
