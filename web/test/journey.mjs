// A journey counts what a person does: clicks, and searches with Enter on the first hit that is meant.
import assert from 'node:assert/strict';
import { until } from './stage.mjs';

export class Journey {
  constructor(stage, page) {
    Object.assign(this, { stage, page, clicks: 0, searches: 0 });
  }

  async begin() {
    [this.clicks, this.searches] = [0, 0];
    await this.stage.open(this.page, '');
  }

  // click presses the one visible link or button of this text within a part of the page, with the mouse: one that
  // something covers, or that moves away, is not pressed.
  async click(text, within = 'main') {
    await until(`${text} in ${within}, covered by nothing`, async () => {
      const found = (await this.page.evaluateHandle((text, within) => [...document.querySelectorAll(`:is(${within}) :is(a, button)`)].find((e) => !e.disabled && e.checkVisibility({ opacityProperty: true }) && (e.textContent.trim() === text || e.title === text)) ?? null, text, within)).asElement();
      if (!found) return false;
      await found.evaluate((e) => e.scrollIntoView({ block: 'center' }));
      const { x, y } = await found.clickablePoint();
      if (!(await found.evaluate((e, x, y) => e.contains(document.elementFromPoint(x, y)), x, y))) return false;
      await this.page.mouse.click(x, y);
      return true;
    });
    this.clicks += 1;
  }

  // search goes to the first hit whose text matches.
  async search(text, hit = new RegExp(`^${text}`)) {
    const { page } = this;
    await until('no dialog is open', async () => !(await page.$('dialog[open]'))); // That of the step before closes itself.
    await page.keyboard.press('/');
    await page.waitForSelector('.palette[open] input');
    await page.keyboard.type(text);
    const hits = () => page.$$eval('.hit', (all) => all.map((e) => ({ text: e.innerText.replaceAll('\n', ' '), chosen: e.getAttribute('aria-selected') === 'true' })));
    // Hits that come later move the others: Enter is pressed only if the chosen one is meant.
    await until(`a hit ${hit} is chosen`, async () => {
      const all = await hits();
      const [at, from] = [all.findIndex((one) => hit.test(one.text)), all.findIndex((one) => one.chosen)];
      if (at < 0 || from < 0) return false;
      for (let i = from; i !== at; i += Math.sign(at - from)) await page.keyboard.press(at > from ? 'ArrowDown' : 'ArrowUp');
      return hit.test((await hits()).find((one) => one.chosen)?.text ?? '');
    });
    await page.keyboard.press('Enter');
    await until('the palette is closed', async () => !(await page.$('.palette[open]')));
    this.searches += 1;
  }

  // confirm presses the button of a dialog.
  async confirm(verb) {
    await this.page.waitForSelector('dialog[open] button[type=submit]');
    await this.click(verb, 'dialog[open]');
  }

  // short is the promise: three clicks at most, a search counted as one.
  short(most = 3) {
    assert.ok(this.clicks + this.searches <= most, `${this.clicks} clicks, ${this.searches} searches`);
    return `${this.clicks} clicks, ${this.searches} searches`;
  }
}
