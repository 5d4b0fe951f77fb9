package dev.redlock.sim;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What a request does to one token.
 *
 * @param verb  acquire, extend, release or raise
 * @param keys  the keys of the lock, without those of counters
 * @param token the value of the keys
 * @param ttlMs of an acquire or an extension
 * @param value of a raise
 * @param isReader whether the lock is shared
 */
record SentCommand(String verb, List<String> keys, String token, long ttlMs, long value, boolean isReader) {

    private static final List<String> VERBS = List.of("acquire", "extend", "release", "raise");

    /** The parts of a request: several for a batch, none for a request about no token. */
    static List<SentCommand> of(List<String> words) {
        String command = words.get(0).toUpperCase(Locale.ROOT);
        return switch (command) {
            case "SET" -> ofSet(words);
            case "DELEX" -> List.of(of("release", List.of(words.get(1)), words.get(3), 0));
            case "DELIFEQ" -> List.of(of("release", List.of(words.get(1)), words.get(2), 0));
            case "MSETEX" -> ofAll(words);
            case "EVALSHA" -> ofScript(ScriptNames.ofSha(words.get(1)), words);
            case "EVAL" -> ofScript(
                    ScriptNames.ofSha(ScriptNames.shaOf(words.get(1).getBytes(StandardCharsets.ISO_8859_1))),
                    words);
            default -> List.of();
        };
    }

    private static SentCommand of(String verb, List<String> keys, String token, long ttlMs) {
        return new SentCommand(verb, keys, token, ttlMs, 0, false);
    }

    private static List<SentCommand> ofSet(List<String> words) {
        List<String> key = List.of(words.get(1));
        if (words.size() == 7) {
            return List.of(of("extend", key, words.get(2), Long.parseLong(words.get(6))));
        }
        return words.size() == 6 && words.get(3).equals("NX")
                ? List.of(of("acquire", key, words.get(2), Long.parseLong(words.get(5))))
                : List.of();
    }

    /** The keys of a set have one token, and first attempts of one turn have one each. */
    private static List<SentCommand> ofAll(List<String> words) {
        int count = Integer.parseInt(words.get(1));
        Map<String, List<String>> keysByToken = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            keysByToken.computeIfAbsent(words.get(3 + 2 * i), token -> new ArrayList<>()).add(words.get(2 + 2 * i));
        }
        long ttlMs = Long.parseLong(words.get(words.size() - 1));
        return words.get(2 + 2 * count).equals("NX")
                ? keysByToken.entrySet()
                        .stream()
                        .map(each -> of("acquire", each.getValue(), each.getKey(), ttlMs))
                        .toList()
                : List.of();
    }

    private static List<SentCommand> ofScript(String script, List<String> words) {
        int count = Integer.parseInt(words.get(2));
        String verb = script == null ? "" : script.replaceAll("_.*", "");
        if (!VERBS.contains(verb)) {
            return List.of();
        }
        List<String> all = words.subList(3, 3 + count);
        List<String> arguments = words.subList(3 + count, words.size());
        boolean hasCounters = script.contains("fenced") || verb.equals("raise");
        List<String> keys = hasCounters ? all.subList(0, count / 2) : all;
        if (script.contains("_many")) {
            return ofMany(verb, keys, arguments);
        }
        long number = arguments.size() > 1 && !verb.equals("release") ? Long.parseLong(arguments.get(1)) : 0;
        boolean isRaise = verb.equals("raise");
        return List.of(new SentCommand(verb, List.copyOf(keys), arguments.get(0), isRaise ? 0 : number,
                isRaise ? number : 0, script.endsWith("_read")));
    }

    private static List<SentCommand> ofMany(String verb, List<String> keys, List<String> arguments) {
        List<SentCommand> all = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            long ttlMs = verb.equals("extend") ? Long.parseLong(arguments.get(keys.size() + i)) : 0;
            all.add(of(verb, List.of(keys.get(i)), arguments.get(i), ttlMs));
        }
        return all;
    }
}
