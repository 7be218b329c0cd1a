namespace Kv.Lua.Libraries.Json;

/// <summary>cjson.*: JSON, with the settings, results and errors of lua-cjson 2.1.0 as the reference has it.</summary>
internal static class JsonLibrary
{
    private static readonly string[] Switch = ["off", "on"], SwitchOrNull = ["off", "on", "null"];

    public static void AddTo(LuaMachine machine)
    {
        var encoder = new JsonEncoder(machine);
        var decoder = new JsonDecoder(machine);
        machine.Standing.Add(encoder);
        machine.Standing.Add(decoder);
        machine.Globals[CommonStrings.Add("cjson")] = Module(machine, encoder, decoder, machine.JsonSettings);
    }

    // A module's functions have settings of their own.
    private static LuaTable Module(LuaMachine machine, JsonEncoder encoder, JsonDecoder decoder, JsonSettings settings,
        bool isOfScript = false)
    {
        LuaTable module = machine.NewTable(0, 16);
        module[CommonStrings.Add("null")] = LuaValue.Null;
        module[CommonStrings.Add("_NAME")] = CommonStrings.Add("cjson");
        module[CommonStrings.Add("_VERSION")] = CommonStrings.Add("2.1.0");
        // What the settings are goes with the functions: they are not kept for other scripts (KeptFunctions).
        LuaValue held = isOfScript ? LuaValue.True : LuaValue.Nil;
        Add("new", (ref LuaCall call) =>
            call.Return(Module(call.Machine, encoder, decoder, new JsonSettings(), isOfScript: true)));
        Add("encode", (ref LuaCall call) =>
            encoder.Begin(ref call, TheArgument(ref call), settings));
        Add("decode", (ref LuaCall call) =>
        {
            TheArgument(ref call);
            return decoder.Begin(ref call, call.TextAt(0), settings);
        });
        Add("encode_sparse_array", (ref LuaCall call) => SparseArray(ref call, settings));
        Add("encode_max_depth", (ref LuaCall call) =>
        {
            settings.EncodeDepthMax = Only(ref call).Number(0, settings.EncodeDepthMax, 1, int.MaxValue);
            return call.Return(settings.EncodeDepthMax);
        });
        Add("decode_max_depth", (ref LuaCall call) =>
        {
            settings.DecodeDepthMax = Only(ref call).Number(0, settings.DecodeDepthMax, 1, int.MaxValue);
            return call.Return(settings.DecodeDepthMax);
        });
        Add("encode_number_precision", (ref LuaCall call) =>
        {
            settings.NumberPrecision =
                Only(ref call).Number(0, settings.NumberPrecision, 1, JsonSettings.PrecisionMax);
            return call.Return(settings.NumberPrecision);
        });
        Add("encode_keep_buffer", (ref LuaCall call) =>
        {
            settings.KeepBuffer = Only(ref call).Choice(settings.KeepBuffer, Switch);
            return call.Return(Shown(settings.KeepBuffer));
        });
        Add("encode_invalid_numbers", (ref LuaCall call) =>
        {
            settings.EncodeInvalidNumbers = Only(ref call).Choice(settings.EncodeInvalidNumbers, SwitchOrNull);
            return call.Return(Shown(settings.EncodeInvalidNumbers));
        });
        Add("decode_invalid_numbers", (ref LuaCall call) =>
        {
            settings.DecodeInvalidNumbers = Only(ref call).Choice(settings.DecodeInvalidNumbers, Switch);
            return call.Return(Shown(settings.DecodeInvalidNumbers));
        });
        return module;

        void Add(string name, LuaHostFunction function) =>
            module[CommonStrings.Add(name)] = new LuaBuiltin(name, function) { Held = held };
    }

    private static LuaValue TheArgument(ref LuaCall call) =>
        call.Count == 1 ? call[0] : throw call.ArgumentError(0, "expected 1 argument");

    private static int SparseArray(ref LuaCall call, JsonSettings settings)
    {
        Setting setting = AtMost(ref call, 3);
        settings.SparseConvert = setting.Choice(settings.SparseConvert, Switch);
        settings.SparseRatio = setting.Number(1, settings.SparseRatio, 0, int.MaxValue);
        settings.SparseSafe = setting.Number(2, settings.SparseSafe, 0, int.MaxValue);
        return call.Return(Shown(settings.SparseConvert), settings.SparseRatio, settings.SparseSafe);
    }

    private static Setting Only(ref LuaCall call) => AtMost(ref call, 1);

    private static Setting AtMost(ref LuaCall call, int count) => call.Count <= count ? new Setting(call)
        : throw call.ArgumentError(count, "found too many arguments");

    private static LuaValue Shown(int choice) => choice switch
    {
        JsonSettings.Off => LuaValue.False,
        JsonSettings.On => LuaValue.True,
        _ => CommonStrings.Add("null"),
    };

    // What a call sets: an argument that is nil or not there leaves it.
    private readonly struct Setting(LuaCall call)
    {
        private readonly LuaCall _call = call;

        public int Number(int index, int otherwise, int least, int most)
        {
            if (_call[index].IsNil) return otherwise;
            int value = _call.IntegerAt(index);
            return value >= least && value <= most ? value
                : throw _call.ArgumentError(0, $"expected integer between {least} and {most}");
        }

        public int Choice(int otherwise, string[] choices)
        {
            LuaValue value = _call[0];
            if (value.IsNil) return otherwise;
            if (value.Type == LuaType.Boolean) return value.IsTrue ? JsonSettings.On : JsonSettings.Off;
            string word = _call.TextAt(0).ToString().Split('\0')[0];      // C's texts end there
            int found = Array.IndexOf(choices, word);
            return found >= 0 ? found : throw _call.ArgumentError(0, $"invalid option '{word}'");
        }
    }
}
