package dev.redlock.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Values as JSON text with indentation: maps, lists, strings, numbers, booleans and null.
 *
 * @threading any thread
 */
final class Json {

    private static final int FIRST_PRINTABLE = 0x20;

    private Json() {
    }

    static String text(Object value) {
        return text(value, "\n");
    }

    private static String text(Object value, String newLine) {
        if (value instanceof Map<?, ?> map) {
            List<String> members = new ArrayList<>();
            map.forEach((key, each) -> members.add(quoted(key.toString()) + ": " + text(each, newLine + "  ")));
            return group("{", members, "}", newLine);
        }
        if (value instanceof List<?> list) {
            return group("[", list.stream().map(each -> text(each, newLine + "  ")).toList(), "]", newLine);
        }
        return value instanceof String string ? quoted(string) : String.valueOf(value);
    }

    private static String group(String open, List<String> parts, String close, String newLine) {
        String inner = newLine + "  ";
        return parts.isEmpty() ? open + close : open + inner + String.join("," + inner, parts) + newLine + close;
    }

    private static String quoted(String string) {
        StringBuilder text = new StringBuilder("\"");
        for (int i = 0; i < string.length(); i++) {
            char c = string.charAt(i);
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c < FIRST_PRINTABLE || Character.isSurrogate(c)) {
                text.append(String.format("\\u%04x", (int) c));
            } else {
                text.append(c);
            }
        }
        return text.append('"').toString();
    }
}
