namespace Kv.Lua.Libraries.Struct;

/// <summary>struct.*: values to bytes and back by a format, as the library of that name in the reference.</summary>
internal static class StructLibrary
{
    public static void AddTo(LuaMachine machine)
    {
        var packer = new StructPacker(machine);
        var unpacker = new StructUnpacker();
        machine.Standing.Add(unpacker);
        LuaTable library = StandardLibraries.AddLibrary(machine, "struct");
        StandardLibraries.Add(library, "pack", (ref LuaCall call) => packer.Begin(ref call));
        StandardLibraries.Add(library, "unpack", (ref LuaCall call) => unpacker.Begin(ref call));
        StandardLibraries.Add(library, "size", Size);
    }

    private static int Size(ref LuaCall call)
    {
        var format = new StructFormat(call.TextAt(0));
        call.Spend(format.Text.Length >> 2);
        long position = 0;
        // Ends: each round passes a byte of the format.
        while (format.TryNext(ref call, position, out byte option, out int size, out int padding))
        {
            if (option == 's') throw call.ArgumentError(0, "option 's' has no fixed size");
            if (option == 'c' && size == 0) throw call.ArgumentError(0, "option 'c0' has no fixed size");
            if (!char.IsAsciiLetterOrDigit((char)option)) format.Control(ref call, option);
            position += padding + size;
        }

        return call.Return(position);
    }
}
