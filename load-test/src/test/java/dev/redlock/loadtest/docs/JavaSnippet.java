package dev.redlock.loadtest.docs;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;

/**
 * One fenced java block of a Markdown file. The convention stands in CONTRIBUTING.md: a block that declares a type at
 * the left margin is a file; any other block is the body of a method, whose parameters an HTML comment right above the
 * fence may name: {@code <!-- given: Redlock redlock -->}.
 */
record JavaSnippet(String place, String given, List<String> lines) {
    private static final Pattern GIVEN = Pattern.compile("<!-- given: (.*) -->");
    private static final Pattern TYPE = Pattern
            .compile("(?:(?:public|final|abstract|sealed) )*(?:class|interface|record|enum) (\\w+).*");
    private static final List<String> IMPORTS = List.of("dev.redlock.*", "java.time.*", "java.util.*",
            "java.util.concurrent.*");

    static List<JavaSnippet> in(Path file) throws IOException {
        List<JavaSnippet> snippets = new ArrayList<>();
        List<String> lines = Files.readAllLines(file);
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).strip().equals("```java")) {
                int end = endOf(lines, i, file);
                String above = i == 0 ? "" : lines.get(i - 1);
                Matcher given = GIVEN.matcher(above);
                snippets.add(new JavaSnippet(file.getFileName() + ":" + (i + 1), given.matches() ? given.group(1) : "",
                        List.copyOf(lines.subList(i + 1, end))));
                i = end;
            }
        }
        return snippets;
    }

    private static int endOf(List<String> lines, int start, Path file) {
        for (int i = start + 1; i < lines.size(); i++) {
            if (lines.get(i).strip().equals("```")) {
                return i;
            }
        }
        throw new AssertionError(file + ":" + (start + 1) + ": the block has no end");
    }

    JavaFileObject source() {
        String type = typeName();
        String name = type == null ? "Snippet" : type;
        String text = type == null ? wrapped() : String.join("\n", lines);
        return new SimpleJavaFileObject(URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return text;
            }
        };
    }

    private String typeName() {
        return lines.stream()
                .map(TYPE::matcher)
                .filter(Matcher::matches)
                .map(matcher -> matcher.group(1))
                .findFirst()
                .orElse(null);
    }

    private String wrapped() {
        String imports = IMPORTS.stream().map(name -> "import " + name + ";\n").collect(Collectors.joining());
        String own = lines.stream().filter(line -> line.startsWith("import ")).collect(Collectors.joining("\n"));
        String body = lines.stream().filter(line -> !line.startsWith("import ")).collect(Collectors.joining("\n"));
        return imports + own + "\nclass Snippet {\nvoid run(" + given + ") throws Exception {\n" + body + "\n}\n}\n";
    }
}
