import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { speak } from "./i18n.js"
import { startNews } from "./news.js"
import { App } from "./shell/App.js"
import { startTheme } from "./theme.js"
import "./ui/base.css"

startTheme()
const root = document.getElementById("root")
if (root === null) throw new Error("the page has no root")
await speak()
startNews()
createRoot(root).render(<StrictMode><App /></StrictMode>)
