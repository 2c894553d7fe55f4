/** The sign: three geese of a skein. */
export function Brand({ className }: { className?: string | undefined }) {
  return (
    <svg className={className} viewBox="0 0 64 48" width="32" height="24" fill="none" strokeLinecap="round" strokeLinejoin="round" strokeWidth="4.5" aria-hidden="true">
      <path d="M29 15q8-11 14 1 8-11 16-4" stroke="var(--accent)" />
      <path d="M12 27q6-9 11 1 6-9 13-3" stroke="currentColor" />
      <path d="M5 41q5-7 9 1 5-7 11-2" stroke="var(--text-faint)" />
    </svg>
  )
}
