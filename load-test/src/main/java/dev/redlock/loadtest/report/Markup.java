package dev.redlock.loadtest.report;

/**
 * Escapes text for HTML. All external text goes through one of these methods: node addresses, driver names and options
 * come from the user, and other people open the report.
 *
 * @threading immutable
 */
final class Markup {
    /** Text for an element or a quoted attribute. */
    static String text(Object value) {
        String plain = String.valueOf(value);
        StringBuilder escaped = new StringBuilder(plain.length() + 16);
        for (int i = 0; i < plain.length(); i++) {
            char next = plain.charAt(i);
            switch (next) {
                case '&' -> escaped.append("&amp;");
                case '<' -> escaped.append("&lt;");
                case '>' -> escaped.append("&gt;");
                case '"' -> escaped.append("&quot;");
                case '\'' -> escaped.append("&#39;");
                default -> escaped.append(next);
            }
        }
        return escaped.toString();
    }

    /** JSON for a script element, without closing tags and comments. */
    static String json(String json) {
        return json.replace("&", "\\u0026")
                .replace("<", "\\u003c")
                .replace(">", "\\u003e")
                .replace("\u2028", "\\u2028")
                .replace("\u2029", "\\u2029");
    }
}
