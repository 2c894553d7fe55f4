import { SkeinError, type Method, type Request, type Response } from "@skein-im/client"

interface Problem {
  error?: { code?: string; codeNumber?: number; message?: string; retryAfterMs?: number | string; field?: string; ticket?: string }
}

/** Calls a method over HTTP: for what is asked before there is a connection. */
export async function http<M extends Method>(method: M, request: Request<M>, token?: string): Promise<Response<M>> {
  const answer = await fetch(`/api/${method}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(20_000),
  })
  const body = (await answer.json().catch(() => ({}))) as Problem
  if (answer.ok) return body as Response<M>
  const e = body.error ?? (body as NonNullable<Problem["error"]>)
  throw new SkeinError({
    code: e.code ?? (answer.status >= 500 ? "unavailable" : "internal"), message: e.message ?? "", field: e.field ?? "", ticket: e.ticket ?? "",
    retryAfterMs: Number(e.retryAfterMs ?? 0), ...(e.codeNumber === undefined ? {} : { number: e.codeNumber }),
  })
}
