/** The sign: three of a skein of geese. */
export function Brand({ className }: { className?: string | undefined }) {
  return (
    <svg className={className} viewBox="0 0 64 48" width="32" height="24" fill="none" strokeLinecap="round" strokeLinejoin="round" strokeWidth="4.5" aria-hidden="true">
      <path d="M6 33 20 13l10 10" stroke="var(--accent)" />
      <path d="m28 15 8-10 16 22" stroke="currentColor" />
      <path d="m17 43 13-13 10 9" stroke="var(--text-faint)" />
    </svg>
  )
}
