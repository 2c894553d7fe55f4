import { transformAsync, type PluginObj, types as t } from "@babel/core"
import { compileMessage } from "@lingui/message-utils/compileMessage"
import type { Plugin } from "vite"

/** Compiles the English text that the macros leave in the code, so that the page needs no parser of messages. */
function compiled(): PluginObj {
  const tree = (text: string): t.Expression => t.valueToNode(compileMessage(text))
  return {
    name: "skein-compiled-texts",
    visitor: {
      Program: {
        exit(program) {
          program.traverse({
            ObjectProperty(p) {
              const siblings = t.isObjectExpression(p.parent) ? p.parent.properties : []
              const isText = t.isIdentifier(p.node.key, { name: "message" }) && t.isStringLiteral(p.node.value)
              const hasId = siblings.some((x) => t.isObjectProperty(x) && t.isIdentifier(x.key, { name: "id" }) && t.isStringLiteral(x.value) && x.value.value.length === 6)
              if (isText && hasId) p.node.value = tree((p.node.value as t.StringLiteral).value)
            },
            JSXAttribute(p) {
              const { name, value } = p.node
              if (!t.isJSXIdentifier(name, { name: "message" }) || !t.isJSXOpeningElement(p.parent)) return
              const text = t.isStringLiteral(value) ? value.value : t.isJSXExpressionContainer(value) && t.isStringLiteral(value.expression) ? value.expression.value : undefined
              if (text !== undefined) p.node.value = t.jsxExpressionContainer(tree(text))
            },
          })
        },
      },
    },
  }
}

/** Turns the texts of a file (`Trans`, `t`, `Plural`) into lookups. The English stays in the code, compiled: it needs no catalogue. */
export function texts(): Plugin {
  return {
    name: "skein-texts",
    enforce: "pre",
    async transform(code, id) {
      const path = id.split("?")[0] ?? id
      if (!/\.tsx?$/.test(path) || !/@lingui\/(core|react)\/macro/.test(code)) return null
      const out = await transformAsync(code, {
        filename: path, configFile: false, babelrc: false, sourceMaps: true,
        parserOpts: { plugins: ["typescript", "jsx"] },
        plugins: [["@lingui/babel-plugin-lingui-macro", { stripMessageField: false }], compiled],
      })
      return out?.code == null ? null : { code: out.code, map: out.map ?? null }
    },
  }
}
