package dev.redlock.loadtest.docs;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * A java block of a Markdown file. CONTRIBUTING.md has the convention: a block that declares a type at the left
 * margin is a file; any other block is the body of a method, whose parameters an HTML comment names.
 */
record JavaSnippet(DocBlock block) {
    /**
     * The method that a block of statements becomes. Its last parameter gets the resources that the block leaves open.
     */
    static final String METHOD = "run";

    /** Without those about the class path of this build. */
    private static final String LINT = "-Xlint:all,-path,-classfile,-processing";
    private static final Pattern TYPE = Pattern
            .compile("(?:(?:public|final|abstract|sealed) )*(?:class|interface|record|enum) (\\w+).*");
    private static final Pattern OPENED = Pattern.compile("(?:Redlock|RedlockContext) (\\w+) = .*");
    /** A comma that stands between two parameters, and not between two type arguments. */
    private static final String COMMA = ", (?![^<]*>)";
    private static final List<String> IMPORTS = List.of("dev.redlock.*", "dev.redlock.api.*", "java.time.*",
            "java.util.*",
            "java.util.concurrent.*");

    static List<JavaSnippet> in(Path file) throws IOException {
        return DocBlock.in(file)
                .stream()
                .filter(block -> block.language().equals("java") && block.note(DocBlock.TESTED_BY).isEmpty())
                .map(JavaSnippet::new)
                .toList();
    }

    /**
     * Compiles it into a folder.
     *
     * @param places the real addresses for those in the block
     * @return what the compiler has against it, warnings too: a reader's build may have all of them on
     */
    List<String> compile(Path folder, UnaryOperator<String> places) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        List<String> options = List.of("-d", folder.toString(), "-proc:none", LINT, "-classpath",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
        compiler.getTask(null, null, diagnostics, options, null, List.of(source(places.apply(text())))).call();
        return diagnostics.getDiagnostics()
                .stream()
                .filter(found -> found.getKind() != Diagnostic.Kind.NOTE)
                .map(found -> block.place() + ": " + found)
                .toList();
    }

    private JavaFileObject source(String text) {
        return new SimpleJavaFileObject(URI.create("string:///" + className() + ".java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return text;
            }
        };
    }

    boolean isType() {
        return typeName() != null;
    }

    String className() {
        return isType() ? typeName() : "Snippet";
    }

    /** The types of the given variables by their names, in order. */
    Map<String, String> given() {
        Map<String, String> types = new LinkedHashMap<>();
        for (String parameter : parameters()) {
            int blank = parameter.lastIndexOf(' ');
            types.put(parameter.substring(blank + 1), parameter.substring(0, blank));
        }
        return types;
    }

    private List<String> parameters() {
        String given = block.note(DocBlock.GIVEN);
        return given.isEmpty() ? List.of() : List.of(given.split(COMMA));
    }

    private String typeName() {
        return block.lines()
                .stream()
                .map(TYPE::matcher)
                .filter(Matcher::matches)
                .map(matcher -> matcher.group(1))
                .findFirst()
                .orElse(null);
    }

    private String text() {
        return isType() ? block.text() : wrapped();
    }

    private String wrapped() {
        List<String> lines = block.lines();
        String imports = IMPORTS.stream().map(name -> "import " + name + ";\n").collect(Collectors.joining());
        String own = lines.stream().filter(line -> line.startsWith("import ")).collect(Collectors.joining("\n"));
        String body = lines.stream().filter(line -> !line.startsWith("import ")).collect(Collectors.joining("\n"));
        String opened = lines.stream()
                .map(OPENED::matcher)
                .filter(Matcher::matches)
                .map(matcher -> matcher.group(1))
                .filter(name -> !body.contains("Redlock.connect(" + name + ")"))
                .map(name -> "$opened.accept(" + name + ");\n")
                .collect(Collectors.joining());
        List<String> all = new ArrayList<>(parameters());
        all.add("java.util.function.Consumer<Object> $opened");
        return imports + own + "\nclass Snippet {\nvoid " + METHOD + "(" + String.join(", ", all)
                + ") throws Exception {\n" + body + "\n" + opened + "}\n}\n";
    }
}
