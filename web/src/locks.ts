/** Locks that the tabs of this browser share. A page of plain http from another machine has none: there each tab is on its own. */
const locks: LockManager | undefined = navigator.locks

/** Runs f while no other tab does so under that name. */
export function alone<T>(name: string, f: () => Promise<T>): Promise<T> {
  return locks === undefined ? f() : locks.request(name, f) as Promise<T>
}
