/** Completion and meanings from the JSON Schema of definitions. */
import { type Completion, type CompletionContext, type CompletionResult, snippet } from "@codemirror/autocomplete";
import type { Text } from "@codemirror/state";
import { hoverTooltip } from "@codemirror/view";

import { placeAt, tokensOf } from "./place";
import { meaningAt, type Offer, offersAt, type Schema } from "./schema";

const linesOf = (doc: Text) => doc.toString().split("\n");

export function completionFrom(schema: () => Promise<Schema | null>) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const root = await schema();
    const line = context.state.doc.lineAt(context.pos);
    const lines = linesOf(context.state.doc);
    const place = root && placeAt(lines, line.number - 1, context.pos - line.from);
    if (!root || !place || (place.written === "" && place.kind === "name" && !context.explicit)) return null;
    const offers = offersAt(root, lines, line.number - 1, place);
    const more = line.text.slice(context.pos - line.from).trim() !== "";
    return {
      from: line.from + place.from,
      options: offers.map((offer) => completion(offer, place.kind, more)),
      validFor: /^[\w$./-]*$/,
    };
  };
}

function completion(offer: Offer, kind: "name" | "value", more: boolean): Completion {
  const label = /^[\w$./-]+$/.test(offer.label) ? offer.label : JSON.stringify(offer.label);
  return {
    label: offer.label,
    type: kind === "name" ? "property" : "constant",
    ...(offer.about ? { info: offer.about } : {}),
    ...(offer.required ? { detail: "required", boost: 10 } : {}),
    apply: kind === "value" || more ? label : snippet(`${label.replaceAll("$", "\\$")}:${below(offer)}`),
  };
}

/** A snippet's lines are indented like the one that it begins on. */
function below(offer: Offer): string {
  if (offer.holds === "members") return "\n  ${}";
  if (offer.holds === "items") return "\n  - ${}";
  return " ${}";
}

export const meaningFrom = (schema: () => Promise<Schema | null>) =>
  hoverTooltip(async (view, pos) => {
    const root = await schema();
    const line = view.state.doc.lineAt(pos);
    const token = tokensOf(line.text).find((one) => one.name !== null);
    if (!root || !token?.name || pos < line.from + token.column || pos > line.from + token.column + token.name.length) return null;
    const lines = linesOf(view.state.doc);
    const place = placeAt(lines, line.number - 1, token.column);
    const text = place && meaningAt(root, lines, line.number - 1, place.path, token.column, token.name);
    if (!text) return null;
    const name = token.name;
    return {
      pos: line.from + token.column,
      end: line.from + token.column + name.length,
      above: true,
      create: () => {
        const dom = document.createElement("div");
        dom.className = "cm-meaning";
        const bold = document.createElement("b");
        bold.textContent = name;
        dom.append(bold, text);
        return { dom };
      },
    };
  });
