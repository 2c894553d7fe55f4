import { createElement, type SVGProps } from "react"

/*
 * What makes a component of an icon of lucide-react, in the place of that library's own: the build puts it there (see
 * vite.config.ts). It can do what the app asks of icons, and no more.
 */

interface Data {
  name: string
  node: readonly (readonly [tag: string, attributes: Readonly<Record<string, string>>])[]
}

const named = /^(aria-|role$|title$)/

export default function icon({ name, node }: Data) {
  return function Icon({ className, ...rest }: SVGProps<SVGSVGElement>) {
    return createElement("svg", {
      xmlns: "http://www.w3.org/2000/svg", width: 24, height: 24, viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", strokeWidth: 2, strokeLinecap: "round", strokeLinejoin: "round",
      className: `lucide lucide-${name}${className === undefined ? "" : ` ${className}`}`, "aria-hidden": Object.keys(rest).some((k) => named.test(k)) ? undefined : true, ...rest,
    }, node.map(([tag, attributes], i) => createElement(tag, { key: i, ...attributes })))
  }
}
