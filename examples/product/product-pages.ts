export function signUpPage(): string {
  return page(`<h1>Write with an assistant</h1>
    <form method="post" action="/sign-up">
      <label>Your name <input name="name" required maxlength="100" autocomplete="name"></label>
      <button>Sign up</button>
    </form>`)
}

export function appPage({ balanceUsd, name, orderId }: { name: string; balanceUsd: string; orderId: string }): string {
  return page(`<h1>Hello, ${escape(name)}</h1>
    <p>You have <output id="balance">${escape(balanceUsd)}</output> USD.</p>
    <form method="post" action="/top-up">
      <input type="hidden" name="orderId" value="${escape(orderId)}">
      <button>Add 5 USD</button>
    </form>
    <section id="messages" aria-label="Messages" aria-live="polite"></section>
    <form id="chat">
      <label>Message <input id="message" required autocomplete="off"></label>
      <button>Send</button>
    </form>
    <p id="notice" role="status"></p>
    <script type="module" src="/product-chat.js"></script>`)
}

function page(body: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>A product</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    ${body}
  </body>
</html>
`
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
