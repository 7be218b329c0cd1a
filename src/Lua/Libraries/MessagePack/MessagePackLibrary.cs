namespace Kv.Lua.Libraries.MessagePack;

/// <summary>cmsgpack.*: MessagePack, with the bytes, results and errors of lua-cmsgpack 0.4.0 as the reference has
/// it.</summary>
internal static class MessagePackLibrary
{
    public static void AddTo(LuaMachine machine)
    {
        var packer = new MessagePacker(machine);
        var unpacker = new MessageUnpacker();
        machine.Standing.Add(packer);
        machine.Standing.Add(unpacker);
        LuaTable library = StandardLibraries.AddLibrary(machine, "cmsgpack");
        library[CommonStrings.Add("_NAME")] = CommonStrings.Add("cmsgpack");
        library[CommonStrings.Add("_VERSION")] = CommonStrings.Add("lua-cmsgpack 0.4.0");
        library[CommonStrings.Add("_COPYRIGHT")] = CommonStrings.Add("Copyright (C) 2012, Salvatore Sanfilippo");
        library[CommonStrings.Add("_DESCRIPTION")] = CommonStrings.Add("MessagePack C implementation for Lua");
        StandardLibraries.Add(library, "pack", (ref LuaCall call) =>
            call.Count > 0 ? packer.Begin(ref call) : throw call.ArgumentError(-1, "MessagePack pack needs input."));
        StandardLibraries.Add(library, "unpack", (ref LuaCall call) => unpacker.Begin(ref call, 0, 0));
        StandardLibraries.Add(library, "unpack_one", (ref LuaCall call) =>
            unpacker.Begin(ref call, 1, call.IntegerAt(1, 0)));
        StandardLibraries.Add(library, "unpack_limit", (ref LuaCall call) =>
            unpacker.Begin(ref call, call.IntegerAt(1), call.IntegerAt(2, 0)));
    }
}
