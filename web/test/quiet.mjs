// quiet opens a page on its own that counts what it requests and the comments of its
// stream, of which one comes every 15 s, and the moments at which something moves or changes its look.
export async function quiet(stage, route) {
  const context = await stage.browser.createBrowserContext(); // A browser has six connections to a server.
  const page = await stage.page({ context });
  page.asked = [];
  page.on('request', (request) => request.url().startsWith('data:') || page.asked.push(request.url().replace(stage.base, '')));
  await page.evaluateOnNewDocument(() => {
    Object.defineProperty(document, 'hidden', { get: () => false }); // Others are in front of it.
    window.moves = [];
    new MutationObserver((records) => window.moves.push(records.map(({ target, attributeName }) => `${target.className || target.tagName} ${attributeName}`).join(', '))).observe(document, { subtree: true, attributes: true });
    const plain = window.fetch;
    window.fetch = async (...request) => {
      const response = await plain(...request);
      if (!/\/events\?/.test(request[0]) || !response.body) return response;
      window.comments = 0;
      const [one, other] = response.body.tee();
      const reader = other.pipeThrough(new TextDecoderStream()).getReader();
      const read = ({ done, value }) => {
        if (done) return;
        window.comments += (value.match(/^:/gm) ?? []).length;
        reader.read().then(read, () => {});
      };
      reader.read().then(read, () => {});
      return new Response(one, response);
    };
  });
  await stage.open(page, route);
  return page;
}

export const comments = (page, n) => page.waitForFunction((least) => window.comments >= least, { polling: 500 }, n);
