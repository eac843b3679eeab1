/** Commands that pages name: scripts of package.json, benches, subcommands and their options. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Page, ROOT } from './pages.js';

const BUILT = fileURLToPath(new URL('../..', import.meta.url));

function printed(file: string, ...args: string[]): string {
  return execFileSync(process.execPath, [`${BUILT}${file}`, ...args], { encoding: 'utf8' });
}

const scripts: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(`${ROOT}package.json`, 'utf8'),
).scripts;
const benches = printed('bench/main.js', '--list');
const SUBCOMMANDS = [
  ...printed('src/cli/main.js', '--help').matchAll(/^ {2}onemem ([a-z]+)/gm),
].map(([, name]) => name);
const help = new Map(SUBCOMMANDS.map((name) => [name, printed('src/cli/main.js', name, '--help')]));

/** Code of a page: blocks for a shell, and code within sentences. */
function commandsOf({ text }: Page): string[] {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, code]) =>
    code.split('\n'),
  );
  const inline = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(
    ([, code]) => code,
  );
  return [...blocks, ...inline].map((line) => line.replace(/ +#.*$/, ''));
}

/** What is wrong with the commands of a page. */
export function wrongCommands(page: Page): string[] {
  const wrong: string[] = [];
  for (const command of commandsOf(page)) {
    for (const [, name] of command.matchAll(/\bnpm run (?:-s )?([\w:-]+)/g))
      if (!Object.hasOwn(scripts, name)) wrong.push(`npm run ${name}`);
    const [, wanted] = /^(?:npm run -s )?bench -- (.*)$/.exec(command) ?? [];
    for (const name of wanted?.split(' ') ?? []) {
      if (!/^[a-z][\w-]*/.test(name)) continue;
      const [first] = name.split('/');
      if (!new RegExp(`^${first}(/|\\s|$)`, 'm').test(benches)) wrong.push(`bench -- ${name}`);
    }
    const [, subcommand, rest] =
      new RegExp(`\\bonemem (${SUBCOMMANDS.join('|')})\\b(.*)$`).exec(command) ?? [];
    for (const [option] of rest?.matchAll(/(?<=\s)--[a-z-]+/g) ?? [])
      if (!help.get(subcommand)?.includes(option)) wrong.push(`onemem ${subcommand} ${option}`);
    for (const [, name] of command.matchAll(/\bnpx onemem ([a-z]+)/g))
      if (!SUBCOMMANDS.includes(name)) wrong.push(`onemem ${name}`);
    for (const [, file] of command.matchAll(/\bnode ((?:scripts|examples)\/\S+?\.m?js)\b/g))
      if (!existsSync(`${ROOT}${file}`)) wrong.push(`node ${file}`);
  }
  return wrong;
}
