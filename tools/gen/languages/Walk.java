import io.kaitai.struct.KaitaiStruct;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * Reads every field and instance of cubins with the generated Java classes.
 *
 * Prints a line per file: path, number of sections, a checksum over their names, kinds and sizes,
 * and the number of getters that failed, with the first of them.
 */
public class Walk {
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final List<String> faults = new ArrayList<>();

    private void walk(Object value, String path) {
        if (value instanceof List) {
            int index = 0;
            for (Object item : (List<?>) value) walk(item, path + "[" + index++ + "]");
        }
        if (!(value instanceof KaitaiStruct) || !seen.add(value)) return;
        for (Method method : value.getClass().getDeclaredMethods()) {
            if (method.getParameterCount() != 0 || method.getName().startsWith("_")) continue;
            if (!Modifier.isPublic(method.getModifiers())) continue;
            if (Modifier.isStatic(method.getModifiers())) continue;
            String place = path + "." + method.getName();
            try {
                walk(method.invoke(value), place);
            } catch (InvocationTargetException error) {
                faults.add(place + ": " + error.getCause());
            } catch (IllegalAccessException error) {
                throw new AssertionError(error);
            }
        }
    }

    private static String read(String file) throws java.io.IOException {
        ElfCuda root = ElfCuda.fromFile(file);
        Walk walk = new Walk();
        walk.walk(root, "");
        int sum = 0;
        for (ElfCuda.Section section : root.sections()) {
            String name = section.name() == null ? "" : section.name();
            String line = name + ":" + section.bodyKind() + ":" + section.lenBody() + ",";
            for (byte c : line.getBytes(StandardCharsets.UTF_8)) sum = sum * 31 + (c & 255);
        }
        int count = root.sections().size();
        root._io().close();
        String first = walk.faults.isEmpty() ? "" : walk.faults.get(0);
        return count + " " + Integer.toUnsignedString(sum) + " " + walk.faults.size() + " " + first;
    }

    public static void main(String[] files) {
        for (String file : files) {
            try {
                System.out.println(file + " " + read(file));
            } catch (Exception error) {
                System.out.println(file + " 0 0 1 " + error);
            }
        }
    }
}
