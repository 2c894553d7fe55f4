import { defineConfig } from "vitepress"
import { slug } from "../links.mjs"
import { forge, sections } from "../pages.mjs"

export default defineConfig({
  lang: "en",
  title: "Skein",
  description: "A complete chat server in one file",
  base: process.env.SITE_BASE ?? "/",
  srcDir: "src",
  outDir: "../../bin/site",
  cacheDir: "../../bin/.site",
  cleanUrls: false,
  lastUpdated: false,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "data:image/svg+xml," + encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M2 22 16 8l14 14" fill="none" stroke="#a84a17" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/></svg>') }]],
  // The documents are Markdown and nothing else: an angle bracket is one.
  markdown: { html: false, anchor: { slugify: slug } },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Install", link: "/install" },
      { text: "Use", link: "/user-guide" },
      { text: "Operate", link: "/operations" },
      { text: "Build", link: "/embedding" },
      { text: "What is new", link: "/changelog" },
    ],
    sidebar: sections.map(({ section, pages }) => ({ text: section, items: pages.map(({ to, title }) => ({ text: title, link: `/${to.replace(/\.md$/, "")}` })) })),
    socialLinks: [{ icon: "github", link: forge }],
    footer: { message: "Apache-2.0" },
  },
})
