import { QueryClientProvider } from '@tanstack/react-query';
import { render } from 'preact';
import { App } from './app';
import { client } from './data';
import { mark } from './marked';
import { back } from './pages/login';
import './design/tokens.css';
import './design/signs.css';
import './style.css';
import './design/kit.css';
import './design/bar.css';
import './table/frame.css';
import './table/stacked.css';
import { applyDensity } from './table/density';
import { tipOfRuns } from './table/tip';

mark();
applyDensity();
tipOfRuns();

const root = document.getElementById('app');
if (root) {
  void back().then(() =>
    render(
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>,
      root,
    ),
  );
}
